import type { Source } from '#lib/kube';
import type { IdleAnswer, RunLoad } from '#lib/lifecycle';
import type { ContainerOutput, RequestHolder } from '#lib/manifests';
import type { AgentDeployment, AgentRevision, Deployment, ObjectKey, Pod, Service } from '#lib/resources';
import type { RevisionSecrets } from '../hub/hub.js';

/** What the agent server of a pod answers to `GET /ok`. */
export interface PodAnswer {
  /** The sentence that names an unavailable dependency; undefined when it waits for none. */
  readonly waitingFor: string | undefined;
  /** What its start is at, as a sentence. */
  readonly progress?: string | undefined;
  /** How often in a row its graph hosts have ended with nothing to do; absent: not at all. */
  readonly hostEnds?: number;
}

/**
 * The half of the listener where revisions run: writes workloads and Services and reports their address. It knows
 * resources only as the owners of what it writes, so it may be another cluster than the hub.
 */
export interface Place {
  /**
   * How its objects show their owners: by reference in the hub's own cluster, where the garbage collector removes them;
   * by label in another cluster, where `clear` does.
   */
  readonly ownership: 'reference' | 'label';
  /** What holds requests to deployments that sleep; undefined: nothing does. */
  readonly heldBy: 'proxy' | 'activator' | undefined;
  /** What wakes the rollout of a deployment. */
  readonly sources: readonly Source[];
  /** The Deployment of the revision's name, if it was made for this very revision. */
  findWorkload(revision: AgentRevision): Deployment | undefined;
  /** The Deployment that takes its runs, if it was made for this very revision. */
  findQueue(revision: AgentRevision): Deployment | undefined;
  /** Pods of the Deployment of this name, and of the one beside it that takes its runs. */
  podsOf(workload: ObjectKey): readonly Pod[];
  /**
   * What the agent server of a pod answers to `GET /ok`; undefined when it gives no answer, as from a cluster whose pods
   * cannot be reached.
   */
  ask(pod: Pod): Promise<PodAnswer | undefined>;
  /** The version that the agent server of a pod declares at `GET /info`; undefined as above. */
  askVersion(pod: Pod): Promise<string | undefined>;
  /** What a pod of the revision has to do; undefined as above. */
  askLoad(pod: Pod, revision: AgentRevision): Promise<RunLoad | undefined>;
  /** Whether a pod of the revision is idle, and with `close` that it refuses requests from now on; undefined as above. */
  askIdle(pod: Pod, revision: AgentRevision, question: 'ask' | 'close'): Promise<IdleAnswer | undefined>;
  /** The end of what the pod of these that failed has printed, by container; empty where it cannot be had. */
  outputOf(pods: readonly Pod[]): Promise<readonly ContainerOutput[]>;
  /** The Service of the deployment's name, if it was made for this very deployment. */
  findService(deployment: AgentDeployment): Service | undefined;
  /** Where the Service is called; undefined while it has no address. */
  addressOf(service: Service): string | undefined;
  /** Where the Service of a deployment that sleeps leads; undefined where something in front of it holds requests. */
  holderOf(deployment: AgentDeployment): Promise<RequestHolder | undefined>;
  /** The deployment does not exist any longer, or has nothing here. */
  forget(deployment: ObjectKey): Promise<void>;
  /** Whether an autoscaler that is not the platform's has the number of pods of the Deployment. */
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
   * Deletes everything that was made for this revision: its Deployments, its Secrets. Pods end in the background, after
   * their Deployment. Whether nothing of it is left.
   */
  clear(revision: AgentRevision): Promise<boolean>;
  /** The same for the deployment of the revision: its Service first, so that no request arrives. */
  clearDeployment(revision: AgentRevision): Promise<boolean>;
}
