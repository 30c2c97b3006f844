import { type AgentDeployment, type AgentRevision, isDeleting, type ObjectKey } from '#lib/resources';
import type { Hub } from '../hub/hub.js';
import type { Place } from '../place/place.js';
import type { RolloutWorld } from './world.js';

/**
 * Puts the finalizer on everything that will own objects in another cluster. Answers whether it did: then the next pass
 * observes again. Inside one cluster the garbage collector does this work.
 */
export async function holdOwners(hub: Hub, place: Place, world: RolloutWorld): Promise<boolean> {
  if (place.ownership === 'reference') return false;
  const owners = [world.deployment, ...world.revisions.map(({ revision }) => revision)];
  const loose = owners.filter((owner) => !hub.holds(owner));
  for (const owner of loose) await hub.hold(owner);
  return loose.length > 0;
}

/**
 * Removes what owners that are being deleted have in another cluster, and then their finalizers: revisions first, whose
 * pods use what the deployment owns. Answers whether an owner is still being cleared.
 */
export async function releaseOwners(
  hub: Hub,
  place: Place,
  key: ObjectKey,
  listenerName: string,
): Promise<boolean> {
  if (place.ownership === 'reference') return false;
  const isHeld = (owner: AgentDeployment | AgentRevision): boolean => isDeleting(owner) && hub.holds(owner);
  const ours = hub.revisionsNamed(key).filter(({ spec }) => spec.listenerName === listenerName);
  let left = 0;
  for (const revision of ours.filter(isHeld)) {
    if (await place.clear(revision)) await hub.release(revision);
    else left++;
  }
  const deployment = hub.findDeployment(key);
  if (left > 0 || !deployment || !isHeld(deployment) || ours.some((one) => !isDeleting(one))) return left > 0;
  if (!(await place.clear(deployment))) return true;
  await hub.release(deployment);
  return false;
}
