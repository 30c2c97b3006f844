import type { AgentDeployment, AgentRevision, Deployment, Pod, Service } from '#lib/resources';

/** One revision with what runs of it. */
export interface RevisionWorld {
  readonly revision: AgentRevision;
  /** Its Deployment; undefined before it was made and after it was removed. */
  readonly workload: Deployment | undefined;
  /** Those that are to stay. */
  readonly pods: readonly Pod[];
}

/** Everything that the rollout of one AgentDeployment depends on, read in one go. */
export interface RolloutWorld {
  readonly deployment: AgentDeployment;
  /** By number, oldest first; only those of this listener. */
  readonly revisions: readonly RevisionWorld[];
  /** The other revisions of the deployment: another listener's, from before or after it was handed over. */
  readonly elsewhere: readonly AgentRevision[];
  readonly service: Service | undefined;
}

/** Patience, in milliseconds. */
export interface RolloutPatience {
  /** From being told to run to being ready. */
  readonly readinessMs: number;
  /** How long a registry may fail to give an image. */
  readonly imagePullMs: number;
  /** No deadline counts from before this time (of the clock, in milliseconds): the program slept until then. */
  readonly awakeSinceMs?: number;
  /** How long a former revision goes on serving connections after the Service points away from it. */
  readonly retireMs: number;
}

export const DEFAULT_PATIENCE: RolloutPatience = {
  readinessMs: 300_000,
  imagePullMs: 20_000,
  retireMs: 5_000,
};
