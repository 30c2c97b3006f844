import type { Pod } from '#lib/resources';

/** True when its status is final. */
export function isOver({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}
