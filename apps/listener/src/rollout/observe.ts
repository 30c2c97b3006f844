import type { Informer, Informers, Reader } from '#lib/kube';
import { isOwnedBy } from '#lib/reconcile';
import {
  type AgentDeployment,
  type AgentRevision,
  COMPONENT,
  type Deployment,
  DEPLOYMENTS,
  isDeleting,
  type KubeObject,
  LABEL,
  type ObjectKey,
  type Pod,
  PODS,
  RESOURCES,
  type Service,
  SERVICES,
} from '#lib/resources';
import type { RolloutWorld } from './world.js';

const BY_REVISION = 'revision';

/** What a rollout is read from. */
export interface RolloutReaders {
  readonly deployments: Pick<Reader<AgentDeployment>, 'find'>;
  readonly revisions: Pick<Reader<AgentRevision>, 'ownedBy'>;
  readonly workloads: Pick<Reader<Deployment>, 'find'>;
  readonly pods: Pick<Reader<Pod>, 'byIndex'>;
  readonly services: Pick<Reader<Service>, 'find'>;
}

/** The caches of one namespace that rollouts read. */
export interface NamespaceCaches extends RolloutReaders {
  readonly deployments: Informer<AgentDeployment>;
  readonly revisions: Informer<AgentRevision>;
  readonly workloads: Informer<Deployment>;
  readonly pods: Informer<Pod>;
  readonly services: Informer<Service>;
}

/** The caches of a namespace. Of built-in kinds only what the platform made is kept in memory. */
export function cachesOf(informers: Informers, namespace: string): NamespaceCaches {
  const ours = { namespace, labelSelector: LABEL.deployment };
  const caches: NamespaceCaches = {
    deployments: informers.of(RESOURCES.AgentDeployment, { namespace }),
    revisions: informers.of(RESOURCES.AgentRevision, { namespace }),
    workloads: informers.of(DEPLOYMENTS, ours),
    pods: informers.of(PODS, ours),
    services: informers.of(SERVICES, ours),
  };
  caches.pods.addIndex(BY_REVISION, ({ metadata: { labels } }) =>
    labels?.[LABEL.component] === COMPONENT.agentApi ? [labels[LABEL.revision] ?? ''] : [],
  );
  return caches;
}

/**
 * The world of one rollout; undefined when the deployment is gone or going, since then nothing is left to decide.
 * Revisions of a deployment that was made anew have the names of the former ones, whose Service, workloads and pods may
 * not be gone yet, or not from these caches: nothing of theirs says anything about the present ones.
 */
export function observeRollout(
  caches: RolloutReaders,
  key: ObjectKey,
  listenerName: string,
): RolloutWorld | undefined {
  const deployment = caches.deployments.find(key);
  if (!deployment || isDeleting(deployment)) return undefined;
  const all = caches.revisions.ownedBy(deployment).filter((revision) => !isDeleting(revision));
  const elsewhere = all.filter(({ spec }) => spec.listenerName !== listenerName);
  const revisions = all
    .filter(({ spec }) => spec.listenerName === listenerName)
    .sort((a, b) => a.spec.number - b.spec.number)
    .map((revision) => ({
      revision,
      workload: ownedBy(revision, caches.workloads.find({ ...key, name: revision.metadata.name })),
      pods: caches.pods
        .byIndex(BY_REVISION, revision.metadata.name)
        .filter((pod) => isPresent(pod, revision)),
    }));
  return { deployment, revisions, elsewhere, service: ownedBy(deployment, caches.services.find(key)) };
}

function ownedBy<T extends KubeObject>(owner: KubeObject, object: T | undefined): T | undefined {
  return object && isOwnedBy(object, owner) ? object : undefined;
}

/** A pod that is to stay and was made for this revision: its owner is a ReplicaSet, which nobody here may read. */
function isPresent(pod: Pod, { metadata }: AgentRevision): boolean {
  return !isDeleting(pod) && (pod.metadata.creationTimestamp ?? '') >= (metadata.creationTimestamp ?? '');
}
