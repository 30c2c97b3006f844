import {
  applyManaged,
  belongsTo,
  deleteManaged,
  fromMapped,
  type Informer,
  type Informers,
  isConflict,
  type KubeClient,
  type ManagingOwner,
  type Source,
} from '#lib/kube';
import type { IdleAnswer, RunLoad } from '#lib/lifecycle';
import {
  addressOf,
  type AddressMode,
  type ContainerOutput,
  idleToken,
  podAddressOf,
  queueName,
  type RequestHolder,
} from '#lib/manifests';
import { podOutput } from '#lib/pod-logs';
import {
  type AgentDeployment,
  type AgentRevision,
  ANNOTATION,
  COMPONENT,
  CONDITION,
  type Deployment,
  DEPLOYMENTS,
  FIELD_MANAGER,
  FINALIZER,
  HORIZONTAL_POD_AUTOSCALERS,
  type HorizontalPodAutoscaler,
  keyOf,
  keyText,
  type KubeObject,
  LABEL,
  type ObjectKey,
  type Pod,
  PODS,
  RESOURCES,
  type ResourceRef,
  type Secret,
  SECRETS,
  type Service,
  SERVICES,
} from '#lib/resources';
import type { RevisionSecrets } from '../hub/hub.js';
import { askIdle, askLoad, askPod, askVersion, type PodAnswer } from './ask-pod.js';
import type { Activator, Behind } from './activator.js';

const BY_WORKLOAD = 'workload';
const BY_TARGET = 'target';
const AGENT_PODS: ReadonlySet<string> = new Set([COMPONENT.agentApi, COMPONENT.agentQueue]);
/**
 * Kinds in the order of deletion when everything of an owner is deleted: no request reaches pods that stop.
 */
const KINDS: readonly ResourceRef[] = [SERVICES, DEPLOYMENTS, SECRETS];

/**
 * Form in which objects of a place show their owners: by reference in the hub's own cluster, where the garbage
 * collector removes them; by label in another cluster, where `clear` does.
 */
export type Ownership = 'reference' | 'label';

export interface PlaceOptions {
  /** Namespace of the workloads. */
  readonly namespace: string;
  /** Namespace of the resources, of the same name unless the place is another cluster. */
  readonly hubNamespace: string;
  readonly ownership: Ownership;
  readonly addresses: AddressMode;
  /** Pods are asked whether they are idle with tokens that are derived from it. */
  readonly idleKey: string;
  /** Proxy for the Services of deployments that sleep, where no other proxy of the platform exists. */
  readonly activator?: Activator | undefined;
  /** Name of the listener, whose pod the activator runs in. */
  readonly listenerName: string;
}

/**
 * The place as one namespace of a cluster. Of built-in kinds only objects that the platform made are kept in
 * memory.
 */
export class PlaceCluster {
  readonly ownership: Ownership;
  /** Program that holds requests to deployments that sleep; undefined: they are not held. */
  readonly heldBy: 'proxy' | 'activator' | undefined;
  /** Sources that wake the rollout of a deployment. */
  readonly sources: readonly Source[];
  readonly #client: KubeClient;
  readonly #options: PlaceOptions;
  readonly #workloads: Informer<Deployment>;
  readonly #pods: Informer<Pod>;
  readonly #services: Informer<Service>;
  readonly #autoscalers: Informer<HorizontalPodAutoscaler>;
  /** Uids of Deployments whose `replicas` this program has given away. */
  readonly #handedOver = new Set<string>();

  constructor(client: KubeClient, informers: Informers, options: PlaceOptions) {
    const ours = { namespace: options.namespace, labelSelector: LABEL.deployment };
    this.ownership = options.ownership;
    this.heldBy = heldBy(options);
    this.#client = client;
    this.#options = options;
    this.#workloads = informers.of(DEPLOYMENTS, ours);
    this.#pods = informers.of(PODS, ours);
    this.#services = informers.of(SERVICES, ours);
    this.#autoscalers = informers.of(HORIZONTAL_POD_AUTOSCALERS, { namespace: options.namespace });
    this.#autoscalers.addIndex(BY_TARGET, targetOf);
    this.#pods.addIndex(BY_WORKLOAD, ({ metadata: { labels } }) =>
      AGENT_PODS.has(labels?.[LABEL.component] ?? '') ? [labels?.[LABEL.revision] ?? ''] : [],
    );
    const deploymentOf = (object: KubeObject) => deploymentIn(options.hubNamespace, object);
    this.sources = [
      fromMapped(this.#workloads, deploymentOf),
      fromMapped(this.#pods, deploymentOf),
      fromMapped(this.#services, deploymentOf),
      fromMapped(this.#autoscalers, (autoscaler) =>
        targetOf(autoscaler).flatMap((name) => {
          const workload = this.#workloads.find({ namespace: options.namespace, name });
          return workload ? deploymentOf(workload) : [];
        }),
      ),
    ];
  }

  /** The Deployment of the revision's name, if it was made for this very revision. */
  findWorkload(revision: AgentRevision): Deployment | undefined {
    return this.#workloadOf(revision, revision.metadata.name);
  }

  /** The Deployment that takes its runs, if it was made for this very revision. */
  findQueue(revision: AgentRevision): Deployment | undefined {
    return this.#workloadOf(revision, queueName(revision.metadata.name));
  }

  #workloadOf(revision: AgentRevision, name: string): Deployment | undefined {
    const found = this.#workloads.find({ namespace: this.#options.namespace, name });
    return found && belongsTo(found, this.#owner(revision)) ? found : undefined;
  }

  /** Pods of the Deployment of this name, and of the one beside it that takes its runs. */
  podsOf({ name }: ObjectKey): readonly Pod[] {
    return this.#pods.byIndex(BY_WORKLOAD, name);
  }

  /**
   * Asks the agent server of a pod for `GET /ok`; undefined when it gives no answer, as from a cluster whose
   * pods cannot be reached.
   */
  ask(pod: Pod): Promise<PodAnswer | undefined> {
    return askPod(podAddressOf(pod, this.#options.addresses));
  }

  /** The version that the agent server of a pod declares at `GET /info`; undefined as above. */
  askVersion(pod: Pod): Promise<string | undefined> {
    return askVersion(podAddressOf(pod, this.#options.addresses));
  }

  /** Load of a pod of the revision; undefined as above. */
  askLoad(pod: Pod, revision: AgentRevision): Promise<RunLoad | undefined> {
    const { addresses, idleKey } = this.#options;
    return askLoad(podAddressOf(pod, addresses), idleToken(revision, idleKey));
  }

  /**
   * Asks if a pod of the revision is idle; with `close` it refuses requests from then on. Undefined as above.
   */
  askIdle(pod: Pod, revision: AgentRevision, question: 'ask' | 'close'): Promise<IdleAnswer | undefined> {
    const { addresses, idleKey } = this.#options;
    return askIdle(podAddressOf(pod, addresses), idleToken(revision, idleKey), question);
  }

  /** The end of what the pod of these that failed has printed, by container; empty where it cannot be had. */
  outputOf(pods: readonly Pod[]): Promise<readonly ContainerOutput[]> {
    return podOutput(this.#client, pods);
  }

  /** The Service of the deployment's name, if it was made for this very deployment. */
  findService(deployment: AgentDeployment): Service | undefined {
    const found = this.#services.find(this.#at(deployment));
    return found && belongsTo(found, this.#owner(deployment)) ? found : undefined;
  }

  /** Address of the Service; undefined while it has none. */
  addressOf(service: Service): string | undefined {
    return addressOf(service, this.#options.addresses);
  }

  /**
   * Target of the Service of a deployment that sleeps; undefined where something in front of it holds
   * requests.
   */
  async holderOf({ metadata: { name } }: AgentDeployment): Promise<RequestHolder | undefined> {
    const { activator, listenerName } = this.#options;
    if (!activator || this.heldBy !== 'activator') return undefined;
    const selector = { [LABEL.listener]: listenerName, [LABEL.component]: COMPONENT.listener };
    return { selector, port: await activator.portOf(this.#keyOf(name), this.#behind(name)) };
  }

  /** The deployment does not exist any longer, or has nothing here. */
  async forget({ name }: ObjectKey): Promise<void> {
    await this.#options.activator?.forget(this.#keyOf(name));
  }

  #keyOf(name: string): string {
    return keyText({ namespace: this.#options.namespace, name });
  }

  #behind(name: string): Behind {
    const key = { namespace: this.#options.namespace, name };
    const find = (): Service | undefined => this.#services.find(key);
    return {
      find,
      wake: async (since) => {
        await this.#client.merge(SERVICES, key, { metadata: { annotations: { [ANNOTATION.wake]: since } } });
      },
      pods: () => {
        const workload = find()?.spec.selector?.[LABEL.revision];
        return workload === undefined ? [] : this.#pods.byIndex(BY_WORKLOAD, workload).filter(takesRequests);
      },
    };
  }

  /** True when an autoscaler that is not the platform's controls the number of pods of the Deployment. */
  isAutoscaled({ metadata: { name } }: Deployment): boolean {
    // one that no controller has looked at changes nothing, as on a machine without a cluster
    return this.#autoscalers
      .byIndex(BY_TARGET, name)
      .some(({ status }) => (status?.conditions ?? []).length > 0);
  }

  /**
   * One without `replicas` keeps the number that it has.
   * @throws TerminalError `NotOurs` when the name belongs to another owner
   */
  async applyWorkload(
    revision: AgentRevision,
    desired: Deployment,
    existing: Deployment | undefined,
  ): Promise<Deployment> {
    const { uid = '' } = existing?.metadata ?? {};
    if (desired.spec.replicas !== undefined) this.#handedOver.delete(uid);
    else if (existing && !this.#handedOver.has(uid)) await this.#handOver(existing);
    return await applyManaged(this.#client, this.#owner(revision), { ref: DEPLOYMENTS, desired, existing });
  }

  /**
   * Gives `replicas` another owner, with the number that it has: a field that its only owner does not apply any longer is
   * set to its default, one pod.
   */
  async #handOver({ metadata: { name, uid = '' }, spec: { replicas } }: Deployment): Promise<void> {
    const { namespace } = this.#options;
    try {
      const manager = { fieldManager: FIELD_MANAGER.handover, force: false };
      await this.#client.apply(DEPLOYMENTS, { metadata: { namespace, name }, spec: { replicas } }, manager);
    } catch (error) {
      // the autoscaler has changed the number meanwhile, so it is an owner
      if (!isConflict(error)) throw error;
    }
    this.#handedOver.add(uid);
  }

  async removeWorkload(workload: Deployment): Promise<void> {
    const { uid } = workload.metadata;
    this.#handedOver.delete(uid ?? '');
    await this.#client.delete(DEPLOYMENTS, keyOf(workload), uid === undefined ? {} : { uid });
  }

  /** @throws TerminalError `NotOurs` when the name belongs to another owner */
  async applyService(
    deployment: AgentDeployment,
    desired: Service,
    existing: Service | undefined,
  ): Promise<void> {
    const owner = this.#owner(deployment);
    await this.#services.seen(await applyManaged(this.#client, owner, { ref: SERVICES, desired, existing }));
  }

  /** Writes copies of the Secrets that pods of the revision name. */
  async applySecrets(
    deployment: AgentDeployment,
    revision: AgentRevision,
    secrets: RevisionSecrets,
  ): Promise<void> {
    const apply = async (owner: ManagingOwner, secret: Secret): Promise<void> => {
      const desired = copyOf(secret, this.#options.namespace);
      await applyManaged(this.#client, owner, { ref: SECRETS, desired, existing: undefined });
    };
    for (const secret of secrets.ofDeployment) await apply(this.#owner(deployment), secret);
    await apply(this.#owner(revision), secrets.ofRevision);
  }

  /** The revision as it is here: in the namespace of its workloads. */
  placed(revision: AgentRevision): AgentRevision {
    const { namespace } = this.#options;
    return { ...revision, metadata: { ...revision.metadata, namespace } };
  }

  /**
   * Deletes everything that was made for this revision: its Deployments, its Secrets. Pods end in the
   * background, after their Deployment. Resolves to true when nothing of it is left.
   */
  clear(revision: AgentRevision): Promise<boolean> {
    return this.#clear(this.#owner(revision));
  }

  /** The same for the deployment of the revision: its Service first, so that no request arrives. */
  async clearDeployment({ metadata: { ownerReferences } }: AgentRevision): Promise<boolean> {
    const [deployment] = ownerReferences ?? [];
    if (!deployment) return true;
    // it may be gone already: its uid is all that is needed
    const object = { metadata: { name: deployment.name, uid: deployment.uid } };
    return this.#clear({ kind: 'label', object, finalizer: FINALIZER.deployment });
  }

  async #clear(owner: ManagingOwner): Promise<boolean> {
    if (owner.kind === 'reference') return true;
    for (const ref of KINDS)
      if (!(await deleteManaged(this.#client, owner, this.#options.namespace, ref))) return false;
    return true;
  }

  #at({ metadata: { name } }: KubeObject): ObjectKey {
    return { namespace: this.#options.namespace, name };
  }

  #owner(object: AgentDeployment | AgentRevision): ManagingOwner {
    switch (this.ownership) {
      case 'reference':
        return {
          kind: 'reference',
          ref: object.kind === 'AgentRevision' ? RESOURCES.AgentRevision : RESOURCES.AgentDeployment,
          object,
        };
      case 'label':
        // a deployment is kept by the controller until its revisions are gone, and these by the listener
        return {
          kind: 'label',
          object,
          finalizer: object.kind === 'AgentRevision' ? FINALIZER.place : FINALIZER.deployment,
        };
      default:
        return this.ownership satisfies never;
    }
  }
}

/** The Service of another cluster cannot lead to a pod of the listener's own. */
function heldBy({ addresses, ownership, activator }: PlaceOptions): PlaceCluster['heldBy'] {
  if (addresses === 'loopback') return 'proxy';
  return activator && ownership === 'reference' ? 'activator' : undefined;
}

function takesRequests({ metadata, status }: Pod): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    metadata.labels?.[LABEL.component] === COMPONENT.agentApi &&
    status?.conditions?.some(({ type, status: is }) => type === CONDITION.ready && is === 'True') === true
  );
}

/** The Deployment that an autoscaler has the number of pods of. */
function targetOf({ spec: { scaleTargetRef } }: HorizontalPodAutoscaler): readonly string[] {
  return scaleTargetRef.kind === DEPLOYMENTS.kind ? [scaleTargetRef.name] : [];
}

/** The deployment that a workload, a pod or a Service belongs to. */
function deploymentIn(namespace: string, { metadata }: KubeObject): readonly ObjectKey[] {
  const name = metadata.labels?.[LABEL.deployment];
  return name === undefined ? [] : [{ namespace, name }];
}

/** The Secret without what its own cluster knows of it. */
function copyOf({ metadata: { name, labels }, type, data, immutable }: Secret, namespace: string): Secret {
  return {
    metadata: { name, namespace, ...(labels ? { labels } : {}) },
    ...(type === undefined ? {} : { type }),
    ...(immutable === undefined ? {} : { immutable }),
    data: data ?? {},
  };
}

/**
 * The half of the listener where revisions run: writes workloads and Services and reports their address. It knows
 * resources only as the owners of what it writes, so it may be another cluster than the hub.
 */
export type Place = Pick<PlaceCluster, keyof PlaceCluster>;
