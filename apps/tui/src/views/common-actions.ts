import type { KubeObject, ResourceRef } from '#lib/resources';
import { keyOf } from '#lib/resources';
import type { Item } from '../world/items.js';
import type { RowAction } from './row-action.js';

/** Deletes the object, as `kubectl delete` does. */
export function deletion<T extends KubeObject>(ref: ResourceRef<T>, danger: string): RowAction<Item> {
  return {
    key: 'ctrl-d',
    word: 'delete',
    about: `delete the marked or selected ${ref.plural}`,
    right: { verb: 'delete', ref },
    danger,
    perform: async (item, { client }) => {
      const { uid } = item.metadata;
      const wasFound = await client.delete(ref, keyOf(item), uid === undefined ? {} : { uid });
      return wasFound ? `deletion of ${item.metadata.name} requested` : `${item.metadata.name} had gone`;
    },
  };
}

/** One merge patch of the spec. */
export function specChange<T extends Item>(
  ref: ResourceRef,
  action: Pick<RowAction<T>, 'key' | 'word' | 'about' | 'danger' | 'refusal' | 'asks'> & {
    readonly spec: (item: T, newId: () => string, answer: string) => object;
    readonly done: string;
  },
): RowAction<T> {
  const { spec, done, ...rest } = action;
  return {
    ...rest,
    right: { verb: 'patch', ref },
    perform: async (item, { client, newId }, answer) => {
      await client.merge(ref, keyOf(item), { spec: spec(item, newId, answer) } as object);
      return `${item.metadata.name} ${done}`;
    },
  };
}
