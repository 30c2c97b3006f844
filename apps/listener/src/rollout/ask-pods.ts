import type { Pod } from '#lib/resources';
import type { Place, PodAnswer } from '../place/place.js';
import type { RevisionWorld, RolloutWorld } from './world.js';

/** Pods of one revision wait for the same: a few of them say it as well as hundreds. */
const MAX_ASKED = 5;

/** Whether a container of the pod runs and is not ready: then it may say why. */
export function mayAnswer({ status }: Pod): boolean {
  return (status?.containerStatuses ?? []).some(({ ready, state }) => !ready && state?.running !== undefined);
}

/** The world with what pods that are not ready answer: their status says that they are not, never why. */
export async function askPods(world: RolloutWorld, place: Pick<Place, 'ask'>): Promise<RolloutWorld> {
  const revisions = await Promise.all(world.revisions.map((revision) => withAnswers(revision, place)));
  return { ...world, revisions };
}

async function withAnswers(world: RevisionWorld, place: Pick<Place, 'ask'>): Promise<RevisionWorld> {
  const answers = new Map<string, PodAnswer>();
  const ask = async (pod: Pod): Promise<void> => {
    const answer = await place.ask(pod);
    if (answer) answers.set(pod.metadata.name, answer);
  };
  await Promise.all(world.pods.filter(mayAnswer).slice(0, MAX_ASKED).map(ask));
  return { ...world, answers };
}
