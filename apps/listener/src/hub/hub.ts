import type { Source } from '#lib/kube';
import type { ContainerOutput } from '#lib/manifests';
import {
  type AgentDeployment,
  type AgentRevision,
  type AgentRevisionStatus,
  CONDITION,
  type ObjectKey,
  type Secret,
} from '#lib/resources';

/** The conditions of a revision that the listener owns. */
export const LISTENER_CONDITIONS: readonly string[] = [
  CONDITION.workloadsReady,
  CONDITION.active,
  CONDITION.failed,
  CONDITION.superseded,
  CONDITION.ready,
];

/** An event that people see on a resource. */
export interface HubEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The Secrets that the pods of a revision name. */
export interface RevisionSecrets {
  /** Secret of this revision only. */
  readonly ofRevision: Secret;
  /** Secrets of every revision of the deployment. */
  readonly ofDeployment: readonly Secret[];
}

/**
 * The half of the listener in the cluster of the resources: reads revisions and their variables, writes their status.
 * It knows nothing of workloads.
 */
export interface Hub {
  /** Sources that wake the rollout of a deployment. */
  readonly sources: readonly Source[];
  findDeployment(key: ObjectKey): AgentDeployment | undefined;
  /** All revisions under the name of a deployment, those of other owners and those being deleted included. */
  revisionsNamed(key: ObjectKey): readonly AgentRevision[];
  /** True when the cache does not show the last report about this revision yet. */
  isBehind(revision: AgentRevision): boolean;
  report(revision: AgentRevision, status: AgentRevisionStatus): Promise<void>;
  record(object: AgentDeployment | AgentRevision, event: HubEvent): void;
  /** Keeps the output of a revision whose pods are about to go, in a ConfigMap that goes with it. */
  keepOutput(revision: AgentRevision, outputs: readonly ContainerOutput[]): Promise<void>;
  /** @throws WaitingError while one of them does not exist */
  secretsOf(revision: AgentRevision): Promise<RevisionSecrets>;
  /**
   * Puts the place's finalizer on, before anything is made for it in another cluster.
   * @throws WaitingError while the listener has no rights for this revision
   */
  hold(revision: AgentRevision): Promise<void>;
  /** Takes the finalizer off, once nothing is left in the other cluster. */
  release(revision: AgentRevision): Promise<void>;
  /** True when the finalizer is on. */
  holds(revision: AgentRevision): boolean;
}
