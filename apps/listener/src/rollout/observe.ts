import type { Informer, Informers } from '#lib/kube';
import {
  type AgentDeployment,
  type AgentRevision,
  type Deployment,
  DEPLOYMENTS,
  isDeleting,
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

/** The caches of one namespace that rollouts read. */
export interface NamespaceCaches {
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
  caches.pods.addIndex(BY_REVISION, (pod) => [pod.metadata.labels?.[LABEL.revision] ?? '']);
  return caches;
}

/** The world of one rollout; undefined when the deployment is gone or going, since then nothing is left to decide. */
export function observeRollout(
  caches: NamespaceCaches,
  key: ObjectKey,
  listenerName: string,
): RolloutWorld | undefined {
  const deployment = caches.deployments.find(key);
  if (!deployment || isDeleting(deployment)) return undefined;
  // by owner: those of a former deployment of this name may not be gone yet
  const revisions = caches.revisions
    .ownedBy(deployment)
    .filter((revision) => revision.spec.listenerName === listenerName && !isDeleting(revision))
    .sort((a, b) => a.spec.number - b.spec.number)
    .map((revision) => ({
      revision,
      workload: caches.workloads.find({ ...key, name: revision.metadata.name }),
      pods: caches.pods.byIndex(BY_REVISION, revision.metadata.name),
    }));
  return { deployment, revisions, service: caches.services.find(key) };
}
