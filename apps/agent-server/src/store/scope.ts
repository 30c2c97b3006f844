import type { SqlFilter } from './sql-filter.js';

/** Work of the server itself: queue, leases, relayed output, checkpoints of its runs. */
export interface WorkerScope {
  readonly kind: 'worker';
}

/** Request of a caller: it reaches rows that the filter lets through; other rows do not exist for it. */
export interface CallerScope {
  readonly kind: 'caller';
  readonly filter: SqlFilter;
  /** Identity of the caller: callers take turns. Undefined when authentication is off. */
  readonly caller?: string | undefined;
  /** Signal aborted once its client has gone, with the reason: its queued reads are given up. */
  readonly left?: AbortSignal | undefined;
}

/** Scope of a statement: the first argument of every statement. */
export type Scope = WorkerScope | CallerScope;

/** Signal aborted once no client waits for what the scope reads. */
export function leftOf(scope: Scope): AbortSignal | undefined {
  return scope.kind === 'caller' ? scope.left : undefined;
}
