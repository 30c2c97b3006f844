import type { Source } from '#lib/kube';
import type { IdleAnswer, RunLoad } from '#lib/lifecycle';
import type { ContainerOutput, RequestHolder } from '#lib/manifests';
import type { AgentDeployment, AgentRevision, Deployment, ObjectKey, Pod, Service } from '#lib/resources';
import type { RevisionSecrets } from '../hub/hub.js';

/** Answer of a pod's agent server to `GET /ok`. */
export interface PodAnswer {
  /** The sentence that names an unavailable dependency; undefined when it waits for none. */
  readonly waitingFor: string | undefined;
  /** Progress of its start, as a sentence. */
  readonly progress?: string | undefined;
  /** Number of times in a row that its graph hosts have ended with nothing to do; absent: zero. */
  readonly hostEnds?: number;
}

/**
 * The half of the listener where revisions run: writes workloads and Services and reports their address. It knows
 * resources only as the owners of what it writes, so it may be another cluster than the hub.
 */
export interface Place {
  /**
   * Form in which its objects show their owners: by reference in the hub's own cluster, where the garbage
   * collector removes them; by label in another cluster, where `clear` does.
   */
  readonly ownership: 'reference' | 'label';
  /** Program that holds requests to deployments that sleep; undefined: they are not held. */
  readonly heldBy: 'proxy' | 'activator' | undefined;
  /** Sources that wake the rollout of a deployment. */
  readonly sources: readonly Source[];
  /** The Deployment of the revision's name, if it was made for this very revision. */
  findWorkload(revision: AgentRevision): Deployment | undefined;
  /** The Deployment that takes its runs, if it was made for this very revision. */
  findQueue(revision: AgentRevision): Deployment | undefined;
  /** Pods of the Deployment of this name, and of the one beside it that takes its runs. */
  podsOf(workload: ObjectKey): readonly Pod[];
  /**
   * Asks the agent server of a pod for `GET /ok`; undefined when it gives no answer, as from a cluster whose
   * pods cannot be reached.
   */
  ask(pod: Pod): Promise<PodAnswer | undefined>;
  /** The version that the agent server of a pod declares at `GET /info`; undefined as above. */
  askVersion(pod: Pod): Promise<string | undefined>;
  /** Load of a pod of the revision; undefined as above. */
  askLoad(pod: Pod, revision: AgentRevision): Promise<RunLoad | undefined>;
  /**
   * Asks if a pod of the revision is idle; with `close` it refuses requests from then on. Undefined as above.
   */
  askIdle(pod: Pod, revision: AgentRevision, question: 'ask' | 'close'): Promise<IdleAnswer | undefined>;
  /** The end of what the pod of these that failed has printed, by container; empty where it cannot be had. */
  outputOf(pods: readonly Pod[]): Promise<readonly ContainerOutput[]>;
  /** The Service of the deployment's name, if it was made for this very deployment. */
  findService(deployment: AgentDeployment): Service | undefined;
  /** Address of the Service; undefined while it has none. */
  addressOf(service: Service): string | undefined;
  /**
   * Target of the Service of a deployment that sleeps; undefined where something in front of it holds
   * requests.
   */
  holderOf(deployment: AgentDeployment): Promise<RequestHolder | undefined>;
  /** The deployment does not exist any longer, or has nothing here. */
  forget(deployment: ObjectKey): Promise<void>;
  /** True when an autoscaler that is not the platform's controls the number of pods of the Deployment. */
  isAutoscaled(workload: Deployment): boolean;
  /**
   * One without `replicas` keeps the number that it has.
   * @throws TerminalError `NotOurs` when the name belongs to another owner
   */
  applyWorkload(
    revision: AgentRevision,
    desired: Deployment,
    existing: Deployment | undefined,
  ): Promise<void>;
  removeWorkload(workload: Deployment): Promise<void>;
  /** @throws TerminalError `NotOurs` when the name belongs to another owner */
  applyService(deployment: AgentDeployment, desired: Service, existing: Service | undefined): Promise<void>;
  /** Writes copies of the Secrets that pods of the revision name. */
  applySecrets(deployment: AgentDeployment, revision: AgentRevision, secrets: RevisionSecrets): Promise<void>;
  /** The revision as it is here: in the namespace of its workloads. */
  placed(revision: AgentRevision): AgentRevision;
  /**
   * Deletes everything that was made for this revision: its Deployments, its Secrets. Pods end in the
   * background, after their Deployment. Resolves to true when nothing of it is left.
   */
  clear(revision: AgentRevision): Promise<boolean>;
  /** The same for the deployment of the revision: its Service first, so that no request arrives. */
  clearDeployment(revision: AgentRevision): Promise<boolean>;
}
