import {
  DISK_FULL,
  parseTerminationMessage,
  readTerminationMessage,
  REGISTRY_UNAVAILABLE,
} from '#lib/lifecycle';
import { isBuiltSource } from '#lib/manifests';
import {
  type AgentRevision,
  CONDITION,
  type ContainerStatus,
  findCondition,
  isConditionTrue,
  isDeleting,
  type Job,
  type Pod,
  POD_SUPPORTED,
  REASON,
} from '#lib/resources';
import { isJobFinished, jobCondition } from '../ended-jobs.js';

/** Everything that the build of a revision depends on. */
export interface GitBuildWorld {
  readonly revision: AgentRevision;
  /** True when a newer revision of the deployment exists: this one will never run. */
  readonly isSuperseded: boolean;
  readonly job: Job | undefined;
  readonly pod: Pod | undefined;
  /** Builds that have begun, or begin before this one. */
  readonly ahead: number;
  /** Builds at a time. */
  readonly places: number;
  readonly timeoutMs: number;
  /** True when this controller has an image store or a registry for the result. */
  readonly canTakeImages: boolean;
  readonly now: Date;
}

/** Time after the longest build for the remaining work: a build that has not ended by then never will. */
const SETTLE_MS = 900_000;
/** A Job gets its pod at once, unless the quota of its namespace is full. */
const POD_PATIENCE_MS = 120_000;
/**
 * Time for which a build waits for a full disk or an unavailable registry, from the creation of the revision.
 */
const PASSING_PATIENCE_MS = 3_600_000;
/** Pause between a build that ended because of it and the next attempt. */
const PASSING_PAUSE_MS = 30_000;
/** Obstacles that a build waits for before another attempt, by the reason that the builder leaves. */
const PASSING: Readonly<Record<string, string>> = {
  [DISK_FULL]: 'room on the disk',
  [REGISTRY_UNAVAILABLE]: 'the registry',
};

/**
 * From the revision to its image: **resolve** the commit where there is a repository, **queue** for a place, **begin** (the intent, then
 * the Job), **watch**, and **collect** the output of the pod, or **fail**. **ensure-job** where the intent
 * exists and no Job does; **put-back** a build that found the disk full or the registry unavailable: it
 * queues again, once its Job is removed. **skip** once a newer revision exists; **finished** has nothing left
 * to do but to clear away.
 */
export type GitBuildDecision =
  | { readonly kind: 'finished' | 'skip' | 'resolve' | 'begin' | 'ensure-job' }
  | { readonly kind: 'queue' | 'put-back'; readonly message: string }
  | { readonly kind: 'watch'; readonly reason: string; readonly message: string }
  | { readonly kind: 'collect'; readonly pod: Pod }
  | { readonly kind: 'fail'; readonly reason: string; readonly message: string };

/** True when the build has succeeded or failed. */
export function isBuildOver({ status }: AgentRevision): boolean {
  return (
    status?.image !== undefined || findCondition(status?.conditions, CONDITION.built)?.status === 'False'
  );
}

/** Maximum time for which a build may have its place, in milliseconds from its begin. */
export function longestPlaceMs(timeoutMs: number): number {
  return timeoutMs + SETTLE_MS;
}

export function decideGitBuild(world: GitBuildWorld): GitBuildDecision {
  const { revision, isSuperseded, job, pod, ahead, places, timeoutMs, canTakeImages, now } = world;
  const { repoCommitSha, build } = revision.status ?? {};
  if (isBuildOver(revision)) return { kind: 'finished' };
  if (isSuperseded) return { kind: 'skip' };
  if (!canTakeImages)
    return {
      kind: 'fail',
      reason: REASON.buildRefused,
      message:
        'builds need the image store of one machine or a registry, and this controller has neither; set builds.registry of the chart, or build an image and deploy it as external_image',
    };
  const elapsedMs = now.getTime() - Date.parse(build?.startedAt ?? '');
  // its place may have been given to another build, whatever delays it
  if (elapsedMs > longestPlaceMs(timeoutMs))
    return {
      kind: 'fail',
      reason: REASON.buildTimedOut,
      message: `the result of the build was not taken within ${seconds(longestPlaceMs(timeoutMs))} s of its start; request a new revision`,
    };
  if (repoCommitSha === undefined && !revision.spec.archive) return { kind: 'resolve' };
  // a build of the same name would take it, and what its pod left, for its own
  if (build === undefined && job)
    return { kind: 'put-back', message: `waiting until the former Job ${job.metadata.name} is removed` };
  if (build === undefined)
    return ahead < places
      ? { kind: 'begin' }
      : { kind: 'queue', message: `waiting for ${ahead} builds before this one; ${places} run at a time` };
  if (!job) return { kind: 'ensure-job' };
  if (isJobFinished(job)) return decidePassing(world, job) ?? judgeEnd(job, pod);
  if (elapsedMs > timeoutMs)
    return {
      kind: 'fail',
      reason: REASON.buildTimedOut,
      message: `the build was ended after ${seconds(timeoutMs)} s, the longest that a build may take; its log says how far it came`,
    };
  // one that is made later would run beside the build that has its place then
  if (!pod && now.getTime() - Date.parse(job.metadata.creationTimestamp ?? '') > POD_PATIENCE_MS)
    return failed(
      `Job ${job.metadata.name} has no pod ${seconds(POD_PATIENCE_MS)} s after it was made: its events name the reason; the quota of the namespace may be full`,
    );
  return watch(pod);
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}

/** Activity by the container that runs. */
const DOING: Readonly<Record<string, string>> = {
  fetch: 'fetching the source',
  push: 'pushing the image to its registry; the log of the build names what it waits for',
};

function watch(pod: Pod | undefined): GitBuildDecision {
  const refusal = pod?.status?.conditions?.find(
    ({ type, status }) => type === POD_SUPPORTED && status === 'False',
  );
  if (refusal) return failed(`the pod of the build was refused: ${refusal.message ?? 'no reason given'}`);
  const running = statusesOf(pod).find(({ state }) => state?.running !== undefined);
  if (running)
    return {
      kind: 'watch',
      reason: REASON.building,
      message: DOING[running.name] ?? 'installing and building',
    };
  const waiting = statusesOf(pod)
    .map(({ state }) => state?.waiting)
    .find((one) => one?.message !== undefined);
  return {
    kind: 'watch',
    reason: REASON.awaitingBuild,
    message: `waiting for the pod of the build${waiting?.message === undefined ? '' : `: ${waiting.message}`}`,
  };
}

/** Undefined for a build that ended for another reason, or met this one for too long. */
function decidePassing({ revision, pod, now }: GitBuildWorld, job: Job): GitBuildDecision | undefined {
  const ends = statusesOf(pod).map(({ state }) => parseTerminationMessage(state?.terminated?.message ?? ''));
  const met = ends.find((one) => PASSING[one?.reason ?? ''] !== undefined);
  const waitedMs = now.getTime() - Date.parse(revision.metadata.creationTimestamp ?? '');
  if (!met || waitedMs > PASSING_PATIENCE_MS) return undefined;
  const message = `waiting for ${PASSING[met.reason ?? '']}: ${met.message}`.slice(0, MAX_MESSAGE);
  const failed = job.status?.conditions?.find(({ type }) => type === CONDITION.failed);
  const sinceMs = now.getTime() - Date.parse(failed?.lastTransitionTime ?? '');
  return sinceMs < PASSING_PAUSE_MS
    ? { kind: 'watch', reason: REASON.awaitingBuild, message }
    : { kind: 'put-back', message };
}

function judgeEnd(job: Job, pod: Pod | undefined): GitBuildDecision {
  if (!pod)
    return failed('the pod of the build was removed before its result was taken; request a new revision');
  if (jobCondition(job, 'Complete')) return { kind: 'collect', pod };
  const ended = statusesOf(pod)
    .map(({ state }) => state?.terminated)
    .find((one) => one !== undefined && one.exitCode !== 0);
  if (!ended)
    return failed(
      `the pod of the build ended: ${[pod.status?.reason, pod.status?.message].filter(Boolean).join(': ') || 'no reason given'}`,
    );
  if (ended.reason === 'OOMKilled')
    return failed(
      `the build ran out of memory (limit ${pod.spec.containers[0]?.resources?.limits?.['memory'] ?? 'unknown'}): ${ended.message ?? 'killed'}`,
    );
  const message = readTerminationMessage(ended.message ?? '');
  return failed(message === '' ? `the build ended with exit code ${ended.exitCode}; see its log` : message);
}

const MAX_MESSAGE = 2_000;

function failed(message: string): GitBuildDecision {
  return { kind: 'fail', reason: REASON.buildFailed, message: message.slice(0, MAX_MESSAGE) };
}

function statusesOf(pod: Pod | undefined): readonly ContainerStatus[] {
  return [...(pod?.status?.initContainerStatuses ?? []), ...(pod?.status?.containerStatuses ?? [])];
}

/** Rules for leaving builds out of the count. */
export interface TurnRules {
  /** A build that began before cannot run any more, whatever its status reports. */
  readonly beganAfter: Date;
  /** True when a build recently could not begin, so that those behind it go first. */
  readonly isStuck: (revision: AgentRevision) => boolean;
}

export interface Turn {
  /** True when a newer revision of the deployment exists. */
  readonly isSuperseded: boolean;
  /** Builds of all namespaces that have begun, and those that begin before this one. */
  readonly ahead: number;
}

/**
 * The place of a revision among all builds. Namespaces are served round robin: the first build of each comes
 * before the second of any, running ones included, and within a round the oldest comes first. So one
 * namespace has all places only while no other waits. A revision that will never run, or is being deleted,
 * takes no place.
 */
export function findTurn(own: AgentRevision, all: readonly AgentRevision[], rules: TurnRules): Turn {
  const newest = newestNumbers(all);
  const isSuperseded = (one: AgentRevision): boolean =>
    one.spec.number < (newest.get(deploymentOf(one)) ?? 0);
  const isOwn = (one: AgentRevision): boolean => one.metadata.uid === own.metadata.uid;
  const others = all.filter((one) => !isOwn(one) && isBuilding(one) && !isSuperseded(one));
  const begun = others.filter(
    ({ status }) => Date.parse(status?.build?.startedAt ?? '') > rules.beganAfter.getTime(),
  );
  const taken = new Map<string, number>();
  for (const one of begun) takeTurn(taken, one);
  const waiting = others
    .filter((one) => one.status?.build === undefined && !rules.isStuck(one))
    .concat(own)
    .toSorted((a, b) => compareTexts(ageOf(a), ageOf(b)))
    // the order is by age already, and sorting is stable
    .map((one) => ({ one, turn: takeTurn(taken, one) }))
    .toSorted((a, b) => a.turn - b.turn);
  return {
    isSuperseded: isSuperseded(own),
    ahead: begun.length + waiting.findIndex(({ one }) => isOwn(one)),
  };
}

/** True when a revision has begun its build, or waits for a place. */
export function isBuilding(revision: AgentRevision): boolean {
  const { spec, status } = revision;
  if (!isBuiltSource(spec.source) || isDeleting(revision) || isBuildOver(revision)) return false;
  return spec.archive
    ? isConditionTrue(status?.conditions, CONDITION.variablesReady)
    : status?.repoCommitSha !== undefined;
}

function newestNumbers(revisions: readonly AgentRevision[]): ReadonlyMap<string, number> {
  const newest = new Map<string, number>();
  for (const one of revisions) {
    const key = deploymentOf(one);
    newest.set(key, Math.max(newest.get(key) ?? 0, one.spec.number));
  }
  return newest;
}

/** The round of the next build of a namespace, from 0. */
function takeTurn(taken: Map<string, number>, { metadata: { namespace = '' } }: AgentRevision): number {
  const turn = taken.get(namespace) ?? 0;
  taken.set(namespace, turn + 1);
  return turn;
}

/** `NAMESPACE/NAME` */
export function deploymentOf({ metadata, spec }: AgentRevision): string {
  return `${metadata.namespace ?? ''}/${spec.deploymentName}`;
}

function ageOf({ metadata }: AgentRevision): string {
  return `${metadata.creationTimestamp ?? ''} ${metadata.uid ?? ''}`;
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
