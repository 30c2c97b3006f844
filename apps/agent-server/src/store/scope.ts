import type { SqlFilter } from './sql-filter.js';

/** What the server does by itself: queue, leases, relayed output, checkpoints of its runs. */
export interface WorkerScope {
  readonly kind: 'worker';
}

/** What a caller asked for: it reaches rows that the filter lets through, and for it there are no others. */
export interface CallerScope {
  readonly kind: 'caller';
  readonly filter: SqlFilter;
  /** Who it is: callers take turns. Undefined where authentication is off. */
  readonly caller?: string | undefined;
}

/** On whose behalf a statement speaks: the first argument of every statement. */
export type Scope = WorkerScope | CallerScope;
