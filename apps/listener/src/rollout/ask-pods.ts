import {
  type AgentRevision,
  COMPONENT,
  CONDITION,
  findCondition,
  isConditionTrue,
  LABEL,
  type Pod,
} from '#lib/resources';
import type { IdleAnswer, RunLoad } from '#lib/lifecycle';
import type { PodAnswer } from '../place/ask-pod.js';
import type { Place } from '../place/place-cluster.js';
import { isAnsweringFollowed, isScaled } from './pod-scaler.js';
import { idleQuestion } from './sleep.js';
import type { RevisionWorld, RolloutWorld } from './world.js';

/** Pods of one revision wait for the same: a few of them say it as well as hundreds. */
const MAX_ASKED = 5;

type Asked = Pick<Place, 'ask' | 'askLoad' | 'askIdle'>;

/** True when a container of the pod runs and is not ready: then it may report why. */
export function mayAnswer({ status }: Pod): boolean {
  return (status?.containerStatuses ?? []).some(({ ready, state }) => !ready && state?.running !== undefined);
}

function isRunning({ status }: Pod): boolean {
  return (status?.containerStatuses ?? []).some(({ state }) => state?.running !== undefined);
}

/** Time for which the pods of a revision that took over are asked for their state. */
const YOUNG_MS = 120_000;

/** Tells whether a revision is on its way up, or has served for a short time only. */
export function isYoung({ status }: AgentRevision, now: Date): boolean {
  const [failed, active] = [CONDITION.failed, CONDITION.active].map((type) =>
    findCondition(status?.conditions, type),
  );
  if (failed || active?.status === 'False' || !isConditionTrue(status?.conditions, CONDITION.built))
    return false;
  return active === undefined || now.getTime() - Date.parse(active.lastTransitionTime) < YOUNG_MS;
}

/**
 * The world with what pods answer: those that are not ready, since their status says that they are not, never why; those of
 * a young revision, whose graph hosts may end while they count as ready; and
 * one that takes runs, where their number decides how many such pods there are; and the one that may have to be stopped.
 */
export async function askPods(world: RolloutWorld, place: Asked, now: Date): Promise<RolloutWorld> {
  const revisions = await Promise.all(
    world.revisions.map(async (one) => {
      const [asked, idle] = await Promise.all([
        withAnswers(one, place, now),
        askIdle(world, one, place, now),
      ]);
      return { ...asked, idle };
    }),
  );
  return { ...world, revisions };
}

async function withAnswers(world: RevisionWorld, place: Asked, now: Date): Promise<RevisionWorld> {
  const answers = new Map<string, PodAnswer>();
  const ask = async (pod: Pod): Promise<void> => {
    const answer = await place.ask(pod);
    if (answer) answers.set(pod.metadata.name, answer);
  };
  const isAsked = isYoung(world.revision, now) ? isRunning : mayAnswer;
  const asked = world.pods.filter(isAsked).slice(0, MAX_ASKED).map(ask);
  const [load, answeringLoad] = await Promise.all([
    askLoad(world, place),
    askAnsweringLoad(world, place),
    ...asked,
  ]);
  return { ...world, answers, load, answeringLoad };
}

/** Asks the one pod that answers requests: a second one means that its Deployment changes just now. */
async function askIdle(
  world: RolloutWorld,
  one: RevisionWorld,
  place: Asked,
  now: Date,
): Promise<IdleAnswer | undefined> {
  const question = idleQuestion(world, one, now);
  const [pod, ...others] = one.pods.filter(answersRequests);
  if (!question || !pod || others.length > 0) return undefined;
  return place.askIdle(pod, one.origin, question);
}

function answersRequests({ metadata: { labels } }: Pod): boolean {
  return labels?.[LABEL.component] === COMPONENT.agentApi;
}

/** Load from the first pod that answers: all know the same database. */
async function askLoad(world: RevisionWorld, place: Asked): Promise<RunLoad | undefined> {
  if (!isScaled(world)) return undefined;
  for (const pod of world.pods.filter(takesRuns).slice(0, MAX_ASKED)) {
    const load = await place.askLoad(pod, world.origin);
    if (load) return load;
  }
  return undefined;
}

/** Runs as one pod counts them, and the cores that pods use on average: they share the requests. */
async function askAnsweringLoad(world: RevisionWorld, place: Asked): Promise<RunLoad | undefined> {
  if (!isAnsweringFollowed(world)) return undefined;
  const pods = world.pods.filter((pod) => answersRequests(pod) && isReady(pod)).slice(0, MAX_ASKED);
  const loads = (await Promise.all(pods.map((pod) => place.askLoad(pod, world.origin)))).filter(
    (load) => load !== undefined,
  );
  const [first] = loads;
  if (!first) return undefined;
  const used = loads.flatMap(({ cores }) => (cores === undefined ? [] : [cores]));
  const { cores: _own, ...runs } = first;
  const sum = used.reduce((all, one) => all + one, 0);
  return { ...runs, ...(used.length > 0 ? { cores: sum / used.length } : {}) };
}

function isReady({ status }: Pod): boolean {
  return (status?.containerStatuses ?? []).some(({ ready }) => ready);
}

function takesRuns(pod: Pod): boolean {
  return isReady(pod) && pod.metadata.labels?.[LABEL.component] === COMPONENT.agentQueue;
}
