/** A trace that every holder of the token may read. */
export interface SharedTrace {
  readonly tenantId: string;
  readonly projectId: string;
  readonly traceId: string;
  readonly token: string;
}

/**
 * A run to share. Clients choose the ids of runs, so one id may occur in several traces: the other members
 * select one.
 */
export interface RunToShare {
  readonly id: string;
  readonly projectId?: string | undefined;
  readonly traceId?: string | undefined;
}

/** Traces that are shared by links. A share is removed with the runs of its trace. */
export interface Shares {
  /**
   * Shares the trace of a run, or answers the share that it has; undefined when the run does not exist.
   * @throws PublicError conflict when the run is in several such traces
   */
  share(tenantId: string, run: RunToShare): Promise<{ readonly token: string } | undefined>;
  /**
   * The token of a run's trace, if it is shared; undefined when the run does not exist.
   * @throws PublicError conflict when the run is in several shared traces
   */
  find(tenantId: string, runId: string): Promise<{ readonly token: string | undefined } | undefined>;
  /**
   * Ends the shares of all traces that the run is in, and of the trace of this id, whose root may not have
   * arrived; limited to the project if one is named. Their tokens are invalid from then on.
   * @returns false when the run does not exist
   */
  unshare(tenantId: string, run: Omit<RunToShare, 'traceId'>): Promise<boolean>;
  /** The trace that a token shares. */
  open(token: string): Promise<SharedTrace | undefined>;
}
