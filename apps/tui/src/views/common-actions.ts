import type { KubeClient } from '#lib/kube';
import { keyOf, type KubeObject, type ObjectKey, type ResourceRef } from '#lib/resources';
import type { RestRequests } from '#lib/rest-client';
import type { Clock } from '#lib/time';
import type { Item } from '../world/items.js';

/** Right that an account needs; asked for with a SelfSubjectAccessReview. */
export interface Right {
  readonly verb: 'patch' | 'delete' | 'create' | 'get';
  readonly ref: Pick<ResourceRef, 'group' | 'plural'>;
  readonly subresource?: string;
}

/** Something that is done to a row. */
export interface RowAction<T extends Item = Item> {
  /** Name of the key, in the form of `keyNameOf`. */
  readonly key: string;
  /** A verb and what it does, for help, footer and confirmation. */
  readonly word: string;
  readonly about: string;
  /** Undefined: only REST is asked, which answers for itself. */
  readonly right?: Right;
  /** Consequence; confirmed by the user before the action is performed. */
  readonly danger?: string;
  /** A whole number that is asked for first; both ends are included. */
  readonly asks?: { readonly what: string; readonly min: number; readonly max: number };
  /** Reason why it makes no sense for this row; undefined when it does. */
  readonly refusal?: { of(item: T): string | undefined }['of'];
  /** @param answer what `asks` asked for; 0 without it @returns result in the past tense */
  readonly perform: { of(item: T, hands: Hands, answer: number): Promise<string> }['of'];
}

/** Dependencies of actions. */
export interface Hands {
  readonly client: KubeClient;
  readonly newId: () => string;
  readonly clock: Pick<Clock, 'now'>;
  /** Opens an address in a browser, or copies it without one; returns the result in the past tense. */
  readonly openUrl: (url: string) => Promise<string>;
  /** Undefined when no address of REST is known. */
  readonly rest: RestRequests | undefined;
  /** Gives the terminal to a command of this program, over the same cluster, until it ends. */
  readonly run: (words: readonly string[]) => Promise<void>;
  /** Makes a port of a pod reachable until the dashboard ends; returns the address on this machine. */
  readonly forward: (pod: ObjectKey, port: number) => Promise<string>;
  /** Adds a namespace to those of the first number keys, or removes it; returns its number, undefined without one. */
  readonly toggleFavourite: (namespace: string) => number | undefined;
}

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
    readonly spec: (item: T, newId: () => string, answer: number) => object;
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
