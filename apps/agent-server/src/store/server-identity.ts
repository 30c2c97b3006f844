/** One of the servers that share the database, as rows and claims know it. */
export interface ServerIdentity {
  readonly serverId: string;
  /** Milliseconds without a heartbeat after which another server takes a run over. */
  readonly leaseMs: number;
  /** Times that a run may be taken over before it counts as failed. */
  readonly maxTakeovers: number;
  /** Graphs of this revision: during a rollout the runs of others are left to their servers. */
  readonly graphIds: readonly string[];
}
