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
  /** Aborted once its client has gone, with the reason: what waits to be read for it is given up. */
  readonly left?: AbortSignal | undefined;
}

/** On whose behalf a statement speaks: the first argument of every statement. */
export type Scope = WorkerScope | CallerScope;

/** Aborted once nobody waits for what the scope reads. */
export function leftOf(scope: Scope): AbortSignal | undefined {
  return scope.kind === 'caller' ? scope.left : undefined;
}
