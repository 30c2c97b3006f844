import type { OwnerReference } from '#lib/resources';

const MAX_OWNERS = 500;
const MAX_NAMESPACES = 200;
/** Names in references are as long as their writer likes. */
const MAX_LETTERS = 600;

/**
 * Owners that were looked for and not found, so that each is looked for once; uids never come back. Owners
 * named in one namespace neither displace nor answer for those of others.
 */
export class AbsentOwners {
  readonly #namespaces = new Map<string, Set<string>>();

  has(namespace: string, owner: OwnerReference): boolean {
    return this.#namespaces.get(namespace)?.has(ownerText(owner)) ?? false;
  }

  add(namespace: string, owner: OwnerReference): void {
    const text = ownerText(owner);
    if (text.length > MAX_LETTERS) return;
    const owners = this.#namespaces.get(namespace) ?? new Set();
    // namespaces are ordered by their last write, the newest last
    this.#namespaces.delete(namespace);
    this.#namespaces.set(namespace, owners.add(text));
    dropOldest(owners, MAX_OWNERS);
    dropOldest(this.#namespaces, MAX_NAMESPACES);
  }
}

/** All by which an owner is looked for. */
export function ownerText({ apiVersion, kind, name, uid }: OwnerReference): string {
  return JSON.stringify([apiVersion, kind, name, uid]);
}

function dropOldest(kept: Set<string> | Map<string, unknown>, most: number): void {
  const [oldest] = kept.keys();
  if (kept.size > most && oldest !== undefined) kept.delete(oldest);
}
