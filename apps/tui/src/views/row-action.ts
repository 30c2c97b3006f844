import type { KubeClient } from '#lib/kube';
import type { ResourceRef } from '#lib/resources';
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
  /** A number is asked for first. */
  readonly asks?: string;
  /** Reason why it makes no sense for this row; undefined when it does. */
  readonly refusal?: { of(item: T): string | undefined }['of'];
  /** @returns result in the past tense */
  readonly perform: { of(item: T, hands: Hands, answer: string): Promise<string> }['of'];
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
}
