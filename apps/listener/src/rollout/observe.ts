import { scaledRevision } from '#lib/manifests';
import { isOwnedBy } from '#lib/reconcile';
import {
  type AgentDeployment,
  type AgentRevision,
  CONDITION,
  type Deployment,
  findCondition,
  isConditionTrue,
  isDeleting,
  LABEL,
  type ObjectKey,
  type Pod,
  type Service,
  sleepNoteOf,
} from '#lib/resources';
import type { Hub } from '../hub/hub-cluster.js';
import type { Place } from '../place/place-cluster.js';
import type { RevisionWorld, RolloutWorld, Served } from './world.js';

/** The Deployments of a rollout by the revision that they were made for. */
export type Workloads<T> = ReadonlyMap<string, T>;

/**
 * Gives every Deployment to one revision; answers for each revision the one whose Deployment runs it.
 *
 * A repeat of an earlier revision runs on the Deployment that was kept for it, so that a rollback needs no
 * new objects. In this order: the revision that serves has the Deployment that the Service selects; the
 * others, newest first, have their own, or borrow that of the revision they repeat. A repeat of the serving
 * revision gets its own, since it is meant to start new pods. A repeat that fails or is superseded gives the
 * Deployment back.
 * @param revisions revisions by number, oldest first
 * @param newest name of the newest revision of the deployment, whichever listener runs it
 */
export function assignWorkloads(
  revisions: readonly AgentRevision[],
  workloads: Workloads<unknown>,
  served: Served | undefined,
  newest: string | undefined,
): ReadonlyMap<string, AgentRevision> {
  const byName = new Map(revisions.map((revision) => [revision.metadata.name, revision]));
  const taken = new Set(served ? [served.workload] : []);
  const origins = new Map<string, AgentRevision>();
  for (const revision of revisions.toReversed()) {
    const { name } = revision.metadata;
    if (name === served?.revision) {
      origins.set(name, byName.get(served.workload) ?? revision);
      continue;
    }
    const kept = byName.get(revision.spec.redeployOf ?? '');
    const borrows =
      kept !== undefined &&
      !workloads.has(name) &&
      workloads.has(kept.metadata.name) &&
      !taken.has(kept.metadata.name) &&
      findCondition(kept.status?.conditions, CONDITION.active) !== undefined &&
      mayBorrow(revision, newest);
    const origin = borrows ? kept : revision;
    if (workloads.has(origin.metadata.name)) taken.add(origin.metadata.name);
    origins.set(name, origin);
  }
  return origins;
}

/** A revision that is to be run, or once was. */
function mayBorrow({ metadata, status }: AgentRevision, newest: string | undefined): boolean {
  const conditions = status?.conditions;
  return (
    isConditionTrue(conditions, CONDITION.built) &&
    !isConditionTrue(conditions, CONDITION.failed) &&
    !isConditionTrue(conditions, CONDITION.superseded) &&
    (metadata.name === newest || findCondition(conditions, CONDITION.active) !== undefined)
  );
}

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
