import type { IngestEventKind } from './ingest-event.js';

/** One thing that was not stored as it came. */
export interface IngestProblem {
  readonly kind: IngestEventKind;
  readonly type: string;
  /** Undefined when no project could be found for it. */
  readonly projectId: string | undefined;
  readonly runId: string | undefined;
  readonly member: string | undefined;
  readonly message: string;
  readonly seenAt: Date;
}

/** Number of times that something happened since the project exists. */
export interface IngestProblemCount {
  readonly kind: IngestEventKind;
  readonly type: string;
  readonly count: number;
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
}

/** Data that ingestion did not store as it came: all of it counted, the newest of each project in words. */
export interface IngestProblems {
  /**
   * Keeps that a request was refused of which no run could be read.
   * @param own name of the one project that its sender may write into
   */
  refuse(tenantId: string, why: Pick<IngestProblem, 'type' | 'message'>, own?: string): Promise<void>;
  /**
   * Newest first.
   * @param options.projectId of one project; absent: of the tenant, also of runs without a project
   */
  list(
    tenantId: string,
    options: { readonly projectId?: string; readonly limit: number },
  ): Promise<{ readonly counts: readonly IngestProblemCount[]; readonly recent: readonly IngestProblem[] }>;
}
