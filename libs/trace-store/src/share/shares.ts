/** A trace that whoever has the token may read. */
export interface SharedTrace {
  readonly tenantId: string;
  readonly projectId: string;
  readonly traceId: string;
  readonly token: string;
}

/** Clients choose the ids of runs, so one may stand in several traces: what else is known of the one that is meant. */
export interface RunToShare {
  readonly id: string;
  readonly projectId?: string | undefined;
  readonly traceId?: string | undefined;
}

/** Traces that are shared by links. A share goes with the runs of its trace. */
export interface Shares {
  /**
   * Shares the trace of a run, or answers the share that it has; undefined when there is no such run.
   * @throws PublicError conflict when the run stands in several such traces
   */
  share(tenantId: string, run: RunToShare): Promise<{ readonly token: string } | undefined>;
  /**
   * The token of a run's trace, as far as it is shared; undefined when there is no such run.
   * @throws PublicError conflict when the run stands in several shared traces
   */
  find(tenantId: string, runId: string): Promise<{ readonly token: string | undefined } | undefined>;
  /**
   * Ends the shares of all traces that the run stands in, and of the trace of this id, whose root may not have arrived;
   * of the project where one is named. Their tokens open nothing any more.
   * @returns false when there is no such run
   */
  unshare(tenantId: string, run: Omit<RunToShare, 'traceId'>): Promise<boolean>;
  /** What a token opens. */
  open(token: string): Promise<SharedTrace | undefined>;
}
