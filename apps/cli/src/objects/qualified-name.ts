import type { ResourceRef } from '#lib/resources';

/** `agentdeployment.GROUP/NAME`: an object by kind, group and name, as kubectl prints it. */
export function qualifiedName({ kind, group }: ResourceRef, name: string): string {
  return `${kind.toLowerCase()}.${group}/${name}`;
}
