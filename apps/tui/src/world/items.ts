import type { Change } from '#lib/kube';
import type { KubeObject, ResourceRef } from '#lib/resources';
import type { TreeRow } from '#lib/rest-client';

/** Anything that a view lists: an object of the API server, or a row of REST in the same clothes. */
export type Item = KubeObject;

/** Source of a view's rows. */
export type Source =
  | { readonly kind: 'kube'; readonly ref: ResourceRef }
  | { readonly kind: 'rest'; readonly name: RestList; readonly query?: RestQuery };

/** Lists that only REST has. */
export type RestList = 'keys' | 'traces' | 'threads' | 'steps';

/** Part of a list that is asked for; everything when empty. */
export interface RestQuery {
  /** Name of a tracing project. */
  readonly project?: string;
  /** Ids. */
  readonly thread?: string;
  readonly trace?: string;
  /** Condition in the filter language. */
  readonly filter?: string;
}

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

/** A run at its place in the tree of its trace; its name as an item is its id. */
export interface StepItem extends Item {
  readonly row: TreeRow;
  readonly at: number;
}

/** A thread of an agent by its traces; its name as an item is its id. */
export interface ThreadItem extends Item {
  readonly thread: {
    readonly project: string;
    /** Traces, and those that failed. */
    readonly count: number;
    readonly failed: number;
    /** Start of the last trace. */
    readonly start_time: string;
    readonly total_tokens: number;
    readonly total_cost: string | null;
    readonly asked: string;
    readonly answered: string;
  };
}

/** The root run of a trace; its name as an item is its id. */
export interface TraceItem extends Item {
  readonly run: {
    readonly trace_id: string;
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
