import type { Change } from '#lib/kube';
import type { KubeObject, ResourceRef } from '#lib/resources';

/** Anything that a view lists: an object of the API server, or a row of REST in the same clothes. */
export type Item = KubeObject;

/** Source of a view's rows. */
export type Source =
  { readonly kind: 'kube'; readonly ref: ResourceRef } | { readonly kind: 'rest'; readonly name: RestList };

/** Lists that only REST has. */
export type RestList = 'keys' | 'traces';

/** The items of one source as they are now, and each change as it comes. */
export interface Items {
  /** True when everything has been listed once. */
  readonly hasSynced: boolean;
  /** Reason why nothing can be listed, such as a missing key; undefined while all is well. */
  readonly problem?: string | undefined;
  list(): readonly Item[];
  find(key: string): Item | undefined;
  /** Calls back with every change from now on, at first with everything as added. The result ends it. */
  on(handler: (change: Change<Item>) => void): () => void;
}

/** Everything that the dashboard can look at. */
export interface World {
  /** Grows when something has changed that a screen may show. */
  readonly revision: number;
  /** Set while the API server cannot be reached, or nothing can be stored. */
  readonly trouble: string | undefined;
  subscribe(changed: () => void): () => void;
  /** @param namespace undefined: all that the user may read */
  itemsOf(source: Source, namespace: string | undefined): Items;
}

/** The root run of a trace; its name as an item is its id. */
export interface TraceItem extends Item {
  readonly run: {
    readonly name: string;
    readonly run_type: string;
    readonly status: 'pending' | 'success' | 'error' | 'interrupted';
    readonly start_time: string;
    readonly latency: number | null;
    readonly total_tokens: number;
    readonly total_cost: string | null;
    readonly error: string | null;
    readonly thread_id: string | null;
    readonly project: string;
    /** First lines of what was asked and answered. */
    readonly asked: string;
    readonly answered: string;
  };
}
