import { scaledRevision } from '#lib/manifests';
import { isOwnedBy } from '#lib/reconcile';
import {
  type AgentDeployment,
  type AgentRevision,
  type Deployment,
  isDeleting,
  LABEL,
  type ObjectKey,
  type Pod,
  type Service,
  sleepNoteOf,
} from '#lib/resources';
import type { Hub } from '../hub/hub.js';
import type { Place } from '../place/place.js';
import { assignWorkloads } from './assign-workloads.js';
import type { RevisionWorld, RolloutWorld, Served } from './world.js';

/**
 * The world of one rollout; undefined when the deployment does not exist or is being deleted, since then nothing is left
 * to decide. Revisions of a deployment that was made anew have the names of the former ones, whose Service, workloads
 * and pods may still exist, or still be in these caches: they prove nothing about the present ones.
 */
export function observeRollout(
  hub: Pick<Hub, 'findDeployment' | 'revisionsNamed'>,
  place: Pick<Place, 'findWorkload' | 'findQueue' | 'podsOf' | 'findService'>,
  key: ObjectKey,
  listenerName: string,
): RolloutWorld | undefined {
  const deployment = hub.findDeployment(key);
  if (!deployment || isDeleting(deployment)) return undefined;
  const all = presentRevisions(hub, key, deployment);
  const isOurs = ({ spec }: AgentRevision): boolean => spec.listenerName === listenerName;
  const service = place.findService(deployment);
  const revisions = all.filter(isOurs);
  const workloads = new Map<string, Deployment>();
  for (const revision of revisions) {
    const workload = place.findWorkload(revision);
    if (workload) workloads.set(revision.metadata.name, workload);
  }
  const origins = assignWorkloads(revisions, workloads, servedBy(service), all.at(-1)?.metadata.name);
  return {
    deployment,
    revisions: revisions.map((revision) => worldOf(revision, origins, workloads, place)),
    elsewhere: all.filter((revision) => !isOurs(revision)),
    service,
  };
}

/** Revision and workload that the Service of a deployment names and selects. */
export function servedBy(service: Service | undefined): Served | undefined {
  const workload = service?.spec.selector?.[LABEL.revision] ?? (service && sleepNoteOf(service)?.workload);
  if (workload === undefined) return undefined;
  return { workload, revision: service?.metadata.labels?.[LABEL.revision] ?? workload };
}

/** Revisions by number, oldest first. */
function presentRevisions(
  hub: Pick<Hub, 'revisionsNamed'>,
  key: ObjectKey,
  deployment: AgentDeployment,
): readonly AgentRevision[] {
  return hub
    .revisionsNamed(key)
    .filter((revision) => isOwnedBy(revision, deployment) && !isDeleting(revision))
    .map((revision) => scaledRevision(revision, deployment))
    .toSorted((a, b) => a.spec.number - b.spec.number);
}

function worldOf(
  revision: AgentRevision,
  origins: ReadonlyMap<string, AgentRevision>,
  workloads: ReadonlyMap<string, Deployment>,
  place: Pick<Place, 'findQueue' | 'podsOf'>,
): RevisionWorld {
  const { name, namespace = '' } = revision.metadata;
  const origin = origins.get(name) ?? revision;
  const [lentTo] = [...origins].find(([other, of]) => other !== name && of === revision) ?? [];
  const isLent = origin === revision && lentTo !== undefined;
  const pods = isLent ? [] : place.podsOf({ namespace, name: origin.metadata.name });
  return {
    revision,
    origin,
    lentTo: isLent ? lentTo : undefined,
    workload: isLent ? undefined : workloads.get(origin.metadata.name),
    queue: isLent ? undefined : place.findQueue(origin),
    pods: pods.filter((pod) => isPresent(pod, origin)),
    ending: pods.filter(isDeleting).length,
  };
}

/** A pod that was made for this revision: its owner is a ReplicaSet, which this program may not read. */
function isPresent(pod: Pod, { metadata }: AgentRevision): boolean {
  return !isDeleting(pod) && (pod.metadata.creationTimestamp ?? '') >= (metadata.creationTimestamp ?? '');
}
