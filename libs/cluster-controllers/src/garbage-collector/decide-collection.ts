/**
 * State of one owner: `solid` it exists · `waiting` it is being deleted and waits for its dependents
 * (foreground) · `absent` it is not there, or another object has its name · `unknown` its kind is not served
 * now.
 */
export type OwnerState = 'solid' | 'waiting' | 'absent' | 'unknown';

export interface OwnerView {
  readonly uid: string;
  readonly state: OwnerState;
}

export type CollectionDecision =
  | { readonly kind: 'keep' }
  /** Some owners are deleted, others exist. */
  | { readonly kind: 'drop-references'; readonly uids: readonly string[] }
  | { readonly kind: 'delete'; readonly propagation: 'Background' | 'Foreground' | 'Orphan' }
  | { readonly kind: 'ask-later' };

export interface ItemView {
  readonly finalizers: readonly string[];
  readonly hasDependents: boolean;
  readonly owners: readonly OwnerView[];
}

/** An object lives as long as one of its owners does. */
export function decideCollection({ owners, finalizers, hasDependents }: ItemView): CollectionDecision {
  if (owners.length === 0) return { kind: 'keep' };
  const of = (state: OwnerState): string[] =>
    owners.filter((owner) => owner.state === state).map(({ uid }) => uid);
  const gone = [...of('absent'), ...of('waiting')];
  if (of('solid').length > 0)
    return gone.length > 0 ? { kind: 'drop-references', uids: gone } : { kind: 'keep' };
  if (of('unknown').length > 0) return { kind: 'ask-later' };
  if (of('waiting').length > 0 && hasDependents) return { kind: 'delete', propagation: 'Foreground' };
  if (finalizers.includes('orphan')) return { kind: 'delete', propagation: 'Orphan' };
  if (finalizers.includes('foregroundDeletion')) return { kind: 'delete', propagation: 'Foreground' };
  return { kind: 'delete', propagation: 'Background' };
}
