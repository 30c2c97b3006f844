import {
  applyManaged,
  belongsTo,
  deleteManaged,
  fromMapped,
  type Informer,
  type Informers,
  isConflict,
  isNotFound,
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
import { askIdle, askLoad, askPod, askVersion } from './ask-pod.js';
import type { Activator, Behind } from './activator.js';
import type { Place, PodAnswer } from './place.js';

const BY_WORKLOAD = 'workload';
const BY_TARGET = 'target';
const AGENT_PODS: ReadonlySet<string> = new Set([COMPONENT.agentApi, COMPONENT.agentQueue]);
/**
 * Kinds in the order of deletion when everything of an owner is deleted: no request reaches pods that stop.
 */
const KINDS: readonly ResourceRef[] = [SERVICES, DEPLOYMENTS, SECRETS];

export interface PlaceOptions {
  /** Namespace of the workloads. */
  readonly namespace: string;
  /** Namespace of the resources, of the same name unless the place is another cluster. */
  readonly hubNamespace: string;
  readonly ownership: Place['ownership'];
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
export class PlaceCluster implements Place {
  readonly ownership: Place['ownership'];
  readonly heldBy: Place['heldBy'];
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

  findWorkload(revision: AgentRevision): Deployment | undefined {
    return this.#workloadOf(revision, revision.metadata.name);
  }

  findQueue(revision: AgentRevision): Deployment | undefined {
    return this.#workloadOf(revision, queueName(revision.metadata.name));
  }

  #workloadOf(revision: AgentRevision, name: string): Deployment | undefined {
    const found = this.#workloads.find({ namespace: this.#options.namespace, name });
    return found && belongsTo(found, this.#owner(revision)) ? found : undefined;
  }

  podsOf({ name }: ObjectKey): readonly Pod[] {
    return this.#pods.byIndex(BY_WORKLOAD, name);
  }

  ask(pod: Pod): Promise<PodAnswer | undefined> {
    return askPod(podAddressOf(pod, this.#options.addresses));
  }

  askVersion(pod: Pod): Promise<string | undefined> {
    return askVersion(podAddressOf(pod, this.#options.addresses));
  }

  askLoad(pod: Pod, revision: AgentRevision): Promise<RunLoad | undefined> {
    const { addresses, idleKey } = this.#options;
    return askLoad(podAddressOf(pod, addresses), idleToken(revision, idleKey));
  }

  askIdle(pod: Pod, revision: AgentRevision, question: 'ask' | 'close'): Promise<IdleAnswer | undefined> {
    const { addresses, idleKey } = this.#options;
    return askIdle(podAddressOf(pod, addresses), idleToken(revision, idleKey), question);
  }

  outputOf(pods: readonly Pod[]): Promise<readonly ContainerOutput[]> {
    return podOutput(this.#client, pods);
  }

  findService(deployment: AgentDeployment): Service | undefined {
    const found = this.#services.find(this.#at(deployment));
    return found && belongsTo(found, this.#owner(deployment)) ? found : undefined;
  }

  addressOf(service: Service): string | undefined {
    return addressOf(service, this.#options.addresses);
  }

  async holderOf({ metadata: { name } }: AgentDeployment): Promise<RequestHolder | undefined> {
    const { activator, listenerName } = this.#options;
    if (!activator || this.heldBy !== 'activator') return undefined;
    const selector = { [LABEL.listener]: listenerName, [LABEL.component]: COMPONENT.listener };
    return { selector, port: await activator.portOf(this.#keyOf(name), this.#behind(name)) };
  }

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

  isAutoscaled({ metadata: { name } }: Deployment): boolean {
    // one that no controller has looked at changes nothing, as on a machine without a cluster
    return this.#autoscalers
      .byIndex(BY_TARGET, name)
      .some(({ status }) => (status?.conditions ?? []).length > 0);
  }

  async applyWorkload(
    revision: AgentRevision,
    desired: Deployment,
    existing: Deployment | undefined,
  ): Promise<void> {
    const { uid = '' } = existing?.metadata ?? {};
    if (desired.spec.replicas !== undefined) this.#handedOver.delete(uid);
    else if (existing && !this.#handedOver.has(uid)) await this.#handOver(existing);
    await applyManaged(this.#client, this.#owner(revision), { ref: DEPLOYMENTS, desired, existing });
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
    try {
      await this.#client.delete(DEPLOYMENTS, keyOf(workload), uid === undefined ? {} : { uid });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async applyService(
    deployment: AgentDeployment,
    desired: Service,
    existing: Service | undefined,
  ): Promise<void> {
    const owner = this.#owner(deployment);
    await this.#services.seen(await applyManaged(this.#client, owner, { ref: SERVICES, desired, existing }));
  }

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

  placed(revision: AgentRevision): AgentRevision {
    const { namespace } = this.#options;
    return { ...revision, metadata: { ...revision.metadata, namespace } };
  }

  clear(revision: AgentRevision): Promise<boolean> {
    return this.#clear(this.#owner(revision));
  }

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
function heldBy({ addresses, ownership, activator }: PlaceOptions): Place['heldBy'] {
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
