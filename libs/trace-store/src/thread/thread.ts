import type { Instant } from '#lib/time';
import type { RunFilters } from '../filter/filter-sql.js';

/** What threads are wanted: those with traces that meet all of it. */
export interface ThreadSearch {
  readonly projectId: string;
  readonly threadId?: string | undefined;
  /** The traces began then or later. */
  readonly from?: Instant | undefined;
  /** The traces began then or earlier. */
  readonly to?: Instant | undefined;
  /** Of the roots of the traces. */
  readonly filters?: RunFilters | undefined;
}

/** Where the page after a thread begins: its last root, by time, then by ids. */
export interface ThreadCursor {
  readonly lastStartTime: Instant;
  readonly rootId: string;
  readonly traceId: string;
}

export interface ThreadPageOptions {
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly after?: ThreadCursor | undefined;
  /** Whether all of them are to be counted, which costs by the time that is asked for. */
  readonly isCounted?: boolean | undefined;
}

/** A conversation: traces of a project with the same thread id, as far as they are wanted. */
export interface Thread {
  readonly threadId: string;
  readonly traces: number;
  /** Whether failures, end, latencies, tokens and costs are those of its newest 1,000 traces alone: on a page that has more of it. */
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
  /** Of the calls of models in these traces. */
  readonly totalTokens: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Decimal texts; undefined where no call has a cost. */
  readonly totalCost: string | undefined;
  readonly promptCost: string | undefined;
  readonly completionCost: string | undefined;
  /** The beginnings of payloads. */
  readonly firstInputs: string | undefined;
  readonly lastOutputs: string | undefined;
  readonly lastError: string | undefined;
}

export interface ThreadPage {
  /** The one whose last trace began last comes first. */
  readonly threads: readonly Thread[];
  /** How many there are, those of other pages with them; undefined unless they are to be counted. */
  readonly total: number | undefined;
  readonly next: ThreadCursor | undefined;
}

export interface Threads {
  /** @throws PublicError bad_request when finding them takes longer than a few seconds */
  list(tenantId: string, search: ThreadSearch, page: ThreadPageOptions): Promise<ThreadPage>;
}
