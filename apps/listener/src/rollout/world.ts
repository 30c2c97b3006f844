import type { AgentDeployment, AgentRevision, Deployment, Pod, Service } from '#lib/resources';
import type { IdleAnswer, RunLoad } from '#lib/lifecycle';
import type { PodAnswer } from '../place/ask-pod.js';

/** One revision with the Deployment that runs it. */
export interface RevisionWorld {
  readonly revision: AgentRevision;
  /** The revision whose Deployment runs this one: itself, or the one that it repeats (`assignWorkloads`). */
  readonly origin: AgentRevision;
  /** The repeat that runs on this revision's Deployment. */
  readonly lentTo: string | undefined;
  /** The Deployment; undefined before it was made, after it was removed, and while it is lent. */
  readonly workload: Deployment | undefined;
  /** The Deployment that takes its runs, where it has one of its own. */
  readonly queue?: Deployment | undefined;
  /** Pods of both Deployments that are not being deleted. */
  readonly pods: readonly Pod[];
  /**
   * Answers of those of them that are not ready, by the name of the pod; one that gives no answer is missing.
   */
  readonly answers?: ReadonlyMap<string, PodAnswer>;
  /**
   * Time for which all its pods have been ready, in milliseconds, as far as this program has seen it;
   * undefined: not ready.
   */
  readonly readyForMs?: number | undefined;
  /** The version that a ready pod of it declared to this program. */
  readonly imageVersion?: string | undefined;
  /** Its runs, where their Deployment is scaled by them and a pod of it answers. */
  readonly load?: RunLoad | undefined;
  /** Load of its pods that answer HTTP, where their number follows that and one of them answers. */
  readonly answeringLoad?: RunLoad | undefined;
  /** Pods of both Deployments that are being deleted. */
  readonly ending?: number;
  /** Idle answer of its pod, where it was asked and answers. */
  readonly idle?: IdleAnswer | undefined;
}

/** The revision that the Service names and the Deployment whose pods it selects. */
export interface Served {
  readonly revision: string;
  readonly workload: string;
}

/** Everything that the rollout of one AgentDeployment depends on, read in one go. */
export interface RolloutWorld {
  readonly deployment: AgentDeployment;
  /** Revisions by number, oldest first; only those of this listener. */
  readonly revisions: readonly RevisionWorld[];
  /** The other revisions of the deployment: another listener's, from before or after it was handed over. */
  readonly elsewhere: readonly AgentRevision[];
  readonly service: Service | undefined;
  /**
   * Program that holds requests to a Service whose deployment sleeps; undefined: none does, and no deployment
   * sleeps.
   */
  readonly heldBy?: 'proxy' | 'activator' | undefined;
}

/** Patience, in milliseconds. */
export interface RolloutPatience {
  /** Limit from the start of a deployment to its readiness. */
  readonly readinessMs: number;
  /** Time for which a registry may fail to deliver an image. */
  readonly imagePullMs: number;
  /** No deadline counts from before this time (of the clock, in milliseconds): the program was suspended until then. */
  readonly awakeSinceMs?: number;
  /** No deadline passes before this time (of the clock, in milliseconds): the program began a moment ago. */
  readonly graceUntilMs?: number;
  /** Time for which a former revision keeps serving connections after the Service points away from it. */
  readonly retireMs: number;
  /**
   * Time for which the former revision keeps its pods for a rollback, once the one that took over is ready.
   */
  readonly standbyWarmMs: number;
  /** Time without a ready pod after which a serving revision has failed. */
  readonly unreadyMs: number;
}

export const DEFAULT_PATIENCE: RolloutPatience = {
  readinessMs: 300_000,
  imagePullMs: 20_000,
  retireMs: 5_000,
  standbyWarmMs: 60_000,
  unreadyMs: 30_000,
};
