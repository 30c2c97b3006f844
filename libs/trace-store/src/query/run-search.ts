import type { RunFilters } from '../filter/filter-sql.js';
import type { Instant } from '#lib/time';
import type { PayloadField } from '../run/payload-field.js';
import type { StoredRun } from '../run/stored-run.js';

/** The last run of a page: the next one begins after it. */
export interface RunCursor {
  readonly startTime: Instant;
  readonly id: string;
  readonly traceId: string;
}

/** Conditions on runs; all that are given must hold. */
export interface RunSearch {
  /** Undefined: of any project. */
  readonly projectIds?: readonly string[] | undefined;
  readonly ids?: readonly string[] | undefined;
  /** True when each of `ids` may also be the id of a trace, which selects its root. */
  readonly mayNameTraces?: boolean | undefined;
  readonly traceId?: string | undefined;
  readonly parentRunId?: string | undefined;
  readonly referenceExampleIds?: readonly string[] | undefined;
  /** Roots name their thread, others seldom do. */
  readonly threadId?: string | undefined;
  readonly isRoot?: boolean | undefined;
  readonly runType?: string | undefined;
  readonly hasError?: boolean | undefined;
  /** They began then or later. */
  readonly from?: Instant | undefined;
  /** They began then or earlier. */
  readonly to?: Instant | undefined;
  readonly filters?: RunFilters | undefined;
}

export interface RunPageOptions {
  /** Order by start time, then id and trace. */
  readonly order: 'ascending' | 'descending';
  readonly after?: RunCursor | undefined;
  /** Maximum number of runs. */
  readonly limit: number;
  /** Payloads to be read. */
  readonly fields: readonly PayloadField[];
  /** True when statistics of feedback are read. */
  readonly feedback?: boolean | undefined;
  /** True when runs without tokens and costs of their own have those of the calls of models below them. */
  readonly totals?: boolean | undefined;
  /** True when runs have the ids of the runs below them. */
  readonly children?: boolean | undefined;
  /** A page ends before its runs are more than that; it has one run at least. */
  readonly maxBytes: number;
  /** Callback with the bytes of the page before its payloads are read; what it throws is thrown. */
  readonly hold?: ((bytes: number) => void) | undefined;
}

export interface RunPage {
  readonly runs: readonly StoredRun[];
  /** Undefined when there are no more runs. */
  readonly next: RunCursor | undefined;
}
