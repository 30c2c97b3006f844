import type { Taint, Toleration } from '#lib/resources';

/** True when a toleration lets its pod live with a taint. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  if ((toleration.operator ?? 'Equal') === 'Exists') return true;
  // without a key only Exists means anything
  return Boolean(toleration.key) && (toleration.value ?? '') === (taint.value ?? '');
}
