/** A trace that whoever has the token may read. */
export interface SharedTrace {
  readonly tenantId: string;
  readonly projectId: string;
  readonly traceId: string;
  readonly token: string;
}

/** Traces that are shared by links. A share goes with the runs of its trace. */
export interface Shares {
  /** Shares the trace of a run, or answers the share that it has; undefined when there is no such run. */
  share(tenantId: string, runId: string): Promise<{ readonly token: string } | undefined>;
  /** The token of a run's trace, as far as it is shared; undefined when there is no such run. */
  find(tenantId: string, runId: string): Promise<{ readonly token: string | undefined } | undefined>;
  /** Ends the share of a run's trace; its token opens nothing any more. @returns false when there is no such run */
  unshare(tenantId: string, runId: string): Promise<boolean>;
  /** What a token opens. */
  open(token: string): Promise<SharedTrace | undefined>;
}
