import { isSelected, type Selection } from '#lib/kube-semantics';
import type { StoredChange } from '../store/stored-object.js';

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/**
 * Event of a change for a watch with selectors: an object that begins to match is ADDED, one that ceases to
 * is DELETED. Undefined when the watch does not see it.
 */
export function selectedChange(change: StoredChange, selection: Selection): WatchEventType | undefined {
  const { type, before, after } = change;
  if (!isInScope(change, selection)) return undefined;
  // an object of the past is parsed for it
  if (!hasSelectors(selection)) return type;
  // the past of a change from before a restart may be unknown: then it may have matched
  const didMatch = type !== 'ADDED' && (before === undefined || isSelected(selection, before.object));
  if (type === 'DELETED') return didMatch ? 'DELETED' : undefined;
  const matches = isSelected(selection, after.object);
  if (matches) return didMatch ? 'MODIFIED' : 'ADDED';
  return didMatch ? 'DELETED' : undefined;
}

/** True when the content of an object decides. */
export function hasSelectors({ labels, fields }: Selection): boolean {
  return labels.length > 0 || fields.length > 0;
}

/** True when a change is of an object that the selection may have, as far as its name tells. */
export function isInScope({ namespace, name }: StoredChange, selection: Selection): boolean {
  if (selection.namespace !== undefined && selection.namespace !== namespace) return false;
  return selection.name === undefined || selection.name === name;
}
