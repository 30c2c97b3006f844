import { type AgentRevision, COMPONENT, isDeleting, LABEL, type ObjectKey, type Pod } from '#lib/resources';
import type { Hub } from '../hub/hub-cluster.js';
import type { Place } from '../place/place-cluster.js';
import type { RevisionWorld, RolloutWorld } from './world.js';

/** An image whose server declares nothing is not asked in every pass; a network that drops packets makes each ask take long. */
const MAX_TRIES = 5;

interface Asked {
  readonly tries: number;
  readonly version: string | undefined;
}

/**
 * The versions that agent servers declare. A revision is asked once in the life of this program, as soon as a pod of it is
 * ready: its image does not change, and on one machine, where the platform brings the agent server, an upgrade of the
 * platform restarts this program too.
 */
export class DeclaredVersions {
  /** Answers for each deployment, by the uid of the revision. */
  readonly #asked = new Map<string, ReadonlyMap<string, Asked>>();

  /** Called in every pass over a deployment. */
  async look(key: ObjectKey, world: RolloutWorld, place: Pick<Place, 'askVersion'>): Promise<RolloutWorld> {
    const before = this.#asked.get(nameOf(key));
    const asked = new Map<string, Asked>();
    const revisions = await Promise.all(
      world.revisions.map(async (one): Promise<RevisionWorld> => {
        const { uid = '' } = one.revision.metadata;
        const now = await askOnce(one, before?.get(uid) ?? { tries: 0, version: undefined }, place);
        asked.set(uid, now);
        return now.version === undefined ? one : { ...one, imageVersion: now.version };
      }),
    );
    this.#asked.set(nameOf(key), asked);
    return { ...world, revisions };
  }

  /** The deployment is gone. */
  forget(key: ObjectKey): void {
    this.#asked.delete(nameOf(key));
  }
}

async function askOnce(
  { pods }: RevisionWorld,
  before: Asked,
  place: Pick<Place, 'askVersion'>,
): Promise<Asked> {
  const pod = pods.find(isAnswering);
  if (!pod || before.version !== undefined || before.tries >= MAX_TRIES) return before;
  return { tries: before.tries + 1, version: await place.askVersion(pod) };
}

function nameOf({ namespace = '', name }: ObjectKey): string {
  return `${namespace}/${name}`;
}

function isAnswering({ metadata: { labels }, status }: Pod): boolean {
  const containers = status?.containerStatuses ?? [];
  const isReady = containers.length > 0 && containers.every(({ ready }) => ready);
  return isReady && labels?.[LABEL.component] === COMPONENT.agentApi;
}

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
