import { type AgentRevision, isDeleting, type ObjectKey } from '#lib/resources';
import type { Hub } from '../hub/hub.js';
import type { Place } from '../place/place.js';
import type { RolloutWorld } from './world.js';

/**
 * Puts the finalizer on every revision that will own objects in another cluster. Objects of the deployment
 * there are deleted with the last of them: the listener may not write deployments, in whose specs there is
 * code that others run. Answers true when it did: then the next pass observes again. Inside one cluster the
 * garbage collector does this work.
 */
export async function holdOwners(hub: Hub, place: Place, world: RolloutWorld): Promise<boolean> {
  if (place.ownership === 'reference') return false;
  const loose = world.revisions.map(({ revision }) => revision).filter((revision) => !hub.holds(revision));
  for (const revision of loose) await hub.hold(revision);
  return loose.length > 0;
}

/**
 * Removes what revisions that are being deleted have in another cluster, after the last one what their deployment has,
 * which their pods use, and then their finalizers. Answers whether something is still being cleared.
 */
export async function releaseOwners(
  hub: Hub,
  place: Place,
  key: ObjectKey,
  listenerName: string,
): Promise<boolean> {
  if (place.ownership === 'reference') return false;
  const ours = hub.revisionsNamed(key).filter(({ spec }) => spec.listenerName === listenerName);
  const cleared: AgentRevision[] = [];
  let left = 0;
  for (const revision of ours) {
    if (!isDeleting(revision) || !hub.holds(revision)) continue;
    if (await place.clear(revision)) cleared.push(revision);
    else left++;
  }
  for (const revision of cleared) {
    const isLast = !ours.some((other) => !cleared.includes(other) && haveOneOwner(other, revision));
    if (isLast && !(await place.clearDeployment(revision))) left++;
    else await hub.release(revision);
  }
  return left > 0;
}

function haveOneOwner(one: AgentRevision, other: AgentRevision): boolean {
  const uidOf = ({ metadata }: AgentRevision) => metadata.ownerReferences?.[0]?.uid;
  return uidOf(one) === uidOf(other);
}
