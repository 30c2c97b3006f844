import type { Instant } from '#lib/time';
import type { RunFilters } from '../filter/filter-sql.js';

/** Conditions on threads: those match whose traces meet all of it. */
export interface ThreadSearch {
  readonly projectId: string;
  readonly threadId?: string | undefined;
  /** The traces began then or later. */
  readonly from?: Instant | undefined;
  /** The traces began then or earlier. */
  readonly to?: Instant | undefined;
  /** Filters on the roots of the traces. */
  readonly filters?: RunFilters | undefined;
}

/** Position of a page: the last root of the thread before it, by time, then by ids. */
export interface ThreadCursor {
  readonly lastStartTime: Instant;
  readonly rootId: string;
  readonly traceId: string;
}

export interface ThreadPageOptions {
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly after?: ThreadCursor | undefined;
  /** True when all of them are to be counted, which costs more for a longer time range. */
  readonly isCounted?: boolean | undefined;
}

/** A conversation: the matching traces of a project with the same thread id. */
export interface Thread {
  readonly threadId: string;
  readonly traces: number;
  /**
   * True when failures, end, latencies, tokens and costs are those of its newest 1,000 traces alone: on a
   * page that has more of it.
   */
  readonly isPartial: boolean;
  readonly failed: number;
  readonly firstStartTime: Instant;
  readonly lastStartTime: Instant;
  /** Undefined while all of its traces last. */
  readonly lastEndTime: Instant | undefined;
  readonly firstTraceId: string;
  readonly lastTraceId: string;
  /** Seconds. */
  readonly latencyP50: number | undefined;
  readonly latencyP99: number | undefined;
  /** Tokens of the calls of models in these traces. */
  readonly totalTokens: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Decimal texts; undefined when no call has a cost. */
  readonly totalCost: string | undefined;
  readonly promptCost: string | undefined;
  readonly completionCost: string | undefined;
  /** The beginnings of payloads. */
  readonly firstInputs: string | undefined;
  readonly lastOutputs: string | undefined;
  readonly lastError: string | undefined;
}

export interface ThreadPage {
  /** Threads sorted by the begin of their last trace, the newest first. */
  readonly threads: readonly Thread[];
  /** Number of threads on all pages; undefined unless they are to be counted. */
  readonly total: number | undefined;
  readonly next: ThreadCursor | undefined;
}

export interface Threads {
  /** @throws PublicError bad_request when finding them takes longer than a few seconds */
  list(tenantId: string, search: ThreadSearch, page: ThreadPageOptions): Promise<ThreadPage>;
}
