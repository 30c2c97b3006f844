import { type AgentRevision, CONDITION, findCondition, isConditionTrue } from '#lib/resources';
import {
  deployingSince,
  findOutage,
  hostCrashOf,
  judgeProspect,
  judgeServing,
  type RevisionFailure,
} from './failure.js';
import { isYoung, mayAnswer } from './ask-pods.js';
import { servedBy } from './observe.js';
import { isAnsweringFollowed, isScaled } from './pod-scaler.js';
import { decideSleep, type Sleep } from './sleep.js';
import { isWorkloadReady } from './ready-spans.js';
import type { RevisionWorld, RolloutPatience, RolloutWorld } from './world.js';

/**
 * Desired fate of one revision. From its creation to its place in the history:
 *
 * - **waiting**: not built yet; no pods
 * - **deploying**: its workload runs and is not ready yet, or has not been ready for long enough to take over
 * - **held**: as deploying, but something outside of it is unavailable: no deadline counts until that is back
 * - **serving**: the Service points to it; awake, or on its way into sleep or out of it
 * - **asleep**: the Service points to it and holds requests; it has no pods until one comes, or its work is
 * due
 * - **retiring**: the Service pointed to it a moment ago; connections may still be open
 * - **warm**: the revision that served last; its pods stay for a rollback within a second
 * - **standby**: served once; its Deployment is kept at zero pods for a rollback, or runs a repeat of it
 * - **superseded**: a newer one was made before it was ready
 * - **failed**: cannot be deployed, or failed while it served; its workload is removed, the resource says why
 * - **blocked**: an object of another owner has the name of its workload or Service
 * - **suspended**: the deployment is suspended; no pods
 */
export type RevisionFate =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'deploying' }
  | { readonly kind: 'held'; readonly failure: RevisionFailure }
  | { readonly kind: 'serving'; readonly sleep: Exclude<Sleep, { readonly kind: 'asleep' | 'suspended' }> }
  | { readonly kind: 'asleep'; readonly sleep: Extract<Sleep, { readonly kind: 'asleep' }> }
  | { readonly kind: 'retiring'; readonly untilMs: number }
  | { readonly kind: 'warm'; readonly untilMs: number }
  | { readonly kind: 'standby' }
  | { readonly kind: 'superseded'; readonly by: string }
  | {
      readonly kind: 'failed';
      readonly failure: RevisionFailure;
      /** The revision that serves again, for one that served when it failed. */
      readonly servesInstead?: string | undefined;
    }
  | { readonly kind: 'blocked'; readonly failure: RevisionFailure }
  | {
      readonly kind: 'suspended';
      /** True when the Service points to it. */
      readonly serves: boolean;
      /** Sleep noted on its Service meanwhile; undefined where nothing can refuse requests. */
      readonly sleep?: Extract<Sleep, { readonly kind: 'suspended' }>;
    };

export interface PlannedRevision {
  readonly world: RevisionWorld;
  readonly fate: RevisionFate;
}

export interface RolloutPlan {
  readonly revisions: readonly PlannedRevision[];
  /** Name of the revision that the Service should point to; undefined until the first is ready. */
  readonly serving: string | undefined;
  /** The revision that the Service still points to and that has failed: its failure is on record before the Service moves. */
  readonly fallen: PlannedRevision | undefined;
  /** Delay in milliseconds until the next look, even if nothing changes. */
  readonly lookAgainMs: number | undefined;
}

function isBuilt(revision: AgentRevision): boolean {
  return isConditionTrue(revision.status?.conditions, CONDITION.built);
}

/** A failure that was reported is final: a revision that failed never comes back by itself. */
function reportedFailure(revision: AgentRevision): RevisionFailure | undefined {
  const failed = findCondition(revision.status?.conditions, CONDITION.failed);
  return failed?.status === 'True' ? { reason: failed.reason, message: failed.message } : undefined;
}

/** Every revision of the deployment, oldest first, whichever listener runs it. */
function allRevisions({ revisions, elsewhere }: RolloutWorld): readonly AgentRevision[] {
  return [...revisions.map(({ revision }) => revision), ...elsewhere].sort(
    (a, b) => a.spec.number - b.spec.number,
  );
}

/** `minReadySeconds` when unset: what fails at once never serves, and what fails later is replaced by the former one. */
const MIN_READY_MS = 500;

/** The revision that serves until this pass decides otherwise. */
function currentOf(world: RolloutWorld): AgentRevision | undefined {
  const all = allRevisions(world);
  // a Service that was deleted, or lost its name to another owner, does not make its target a former revision
  const name =
    servedBy(world.service)?.revision ??
    all.findLast(({ status }) => isConditionTrue(status?.conditions, CONDITION.active))?.metadata.name;
  return all.find(({ metadata }) => metadata.name === name);
}

/**
 * Time for which a revision must have been ready before it takes over. Nothing is gained by waiting while
 * nothing serves; and a repeat of a revision that served has been proven by that.
 */
function probationMs(world: RolloutWorld, candidate: RevisionWorld, current: string | undefined): number {
  const isAnyoneServed = world.revisions.some(
    (one) => one.revision.metadata.name === current && isWorkloadReady(one),
  );
  const { redeployOf } = candidate.revision.spec;
  const repeated = allRevisions(world).find(({ metadata }) => metadata.name === redeployOf);
  if (!isAnyoneServed || (repeated && retirement(repeated) !== undefined)) return 0;
  const { minReadySeconds } = world.deployment.spec;
  return minReadySeconds === undefined ? MIN_READY_MS : minReadySeconds * 1000;
}

/** Rest of its probation; undefined when it is not ready. */
function probationLeft(
  world: RolloutWorld,
  candidate: RevisionWorld,
  current: string | undefined,
): number | undefined {
  if (!isWorkloadReady(candidate)) return undefined;
  const neededMs = probationMs(world, candidate, current);
  // its pods count as ready a while longer
  if (neededMs > 0 && hostCrashOf(candidate)) return undefined;
  return Math.max(0, neededMs - (candidate.readyForMs ?? 0));
}

/** The newest revision that has been ready for long enough and is not older than the one that serves; else that one. */
function chooseServing(world: RolloutWorld, current: AgentRevision | undefined): string | undefined {
  const name = current?.metadata.name;
  // one that became ready a moment before has no pods any more
  if (world.deployment.spec.suspend === true) return name;
  const better = world.revisions.findLast(
    (one) =>
      one.revision.spec.number > (current?.spec.number ?? 0) &&
      isBuilt(one.revision) &&
      !reportedFailure(one.revision) &&
      probationLeft(world, one, name) === 0,
  );
  return better?.revision.metadata.name ?? name;
}

interface Fall {
  readonly from: string;
  readonly to: string;
  readonly failure: RevisionFailure;
  /** True when the former revision has ready pods; they are started first otherwise. */
  readonly isReady: boolean;
}

/**
 * Decides if traffic goes back: the revision that serves has failed, and the one before it can run. One whose
 * failure is on record goes back in any case: this program ended before it moved the Service.
 */
function fallBack(
  world: RolloutWorld,
  serving: string,
  now: Date,
  patience: RolloutPatience,
): Fall | undefined {
  const { rollbackOnFailure = true, suspend } = world.deployment.spec;
  const from = world.revisions.find(({ revision }) => revision.metadata.name === serving);
  const to = formerOf(world, serving);
  if (!from || !to) return undefined;
  const { name } = to.revision.metadata;
  const reported = reportedFailure(from.revision);
  if (reported) return { from: serving, to: name, failure: reported, isReady: true };
  if (!rollbackOnFailure || suspend === true || !to.workload) return undefined;
  const failure = judgeServing(from, now, patience);
  return failure && { from: serving, to: name, failure, isReady: isWorkloadReady(to) };
}

/** A revision that the Service once pointed to, and when it stopped doing so. */
function retirement(revision: AgentRevision): number | undefined {
  const active = findCondition(revision.status?.conditions, CONDITION.active);
  if (!active) return undefined;
  return active.status === 'True' ? Number.POSITIVE_INFINITY : Date.parse(active.lastTransitionTime);
}

/** The revision that served before the one that serves: it was retired last. */
function formerOf({ revisions }: RolloutWorld, serving: string | undefined): RevisionWorld | undefined {
  let former: { readonly world: RevisionWorld; readonly retiredAt: number } | undefined;
  for (const world of revisions) {
    const retiredAt = retirement(world.revision);
    const { name } = world.revision.metadata;
    if (retiredAt === undefined || name === serving || reportedFailure(world.revision)) continue;
    if (!former || retiredAt >= former.retiredAt) former = { world, retiredAt };
  }
  return former?.world;
}

interface Situation {
  readonly serving: string | undefined;
  readonly former: string | undefined;
  /** Time since which the revision that serves has been ready, in milliseconds; now, where it is not. */
  readonly servesSinceMs: number;
  readonly fall: Fall | undefined;
  /** The former revision, whose pods are started because the one that serves has failed. */
  readonly revived: string | undefined;
  /** Remaining probation of revisions that are ready, by their names. */
  readonly probations: ReadonlyMap<string, number>;
  readonly newest: string | undefined;
  /** Sleep of the revision that serves. */
  readonly sleep: Sleep;
  readonly isSuspended: boolean;
  readonly now: Date;
  readonly patience: RolloutPatience;
}

/** A revision that served once. */
function decideRetired(world: RevisionWorld, retiredAt: number, situation: Situation): RevisionFate {
  const { former, isSuspended, now, patience, revived, servesSinceMs } = situation;
  // its Deployment runs a repeat of it
  if (isSuspended || world.lentTo !== undefined) return { kind: 'standby' };
  if (world.revision.metadata.name === revived)
    return { kind: 'warm', untilMs: now.getTime() + patience.standbyWarmMs };
  // it was replaced in its sleep
  if (world.workload?.spec.replicas === 0) return { kind: 'standby' };
  // infinitely late: the status still says active, so the switch happened a moment ago
  const since = Math.min(retiredAt, now.getTime());
  const retiresMs = since + patience.retireMs;
  if (retiresMs > now.getTime()) return { kind: 'retiring', untilMs: retiresMs };
  // none stays warm for more than twice the time: what serves may be unready for reasons that it shares
  const unprovenMs = Math.max(0, servesSinceMs - since);
  const coldMs = since + patience.standbyWarmMs + Math.min(unprovenMs, patience.standbyWarmMs);
  if (world.revision.metadata.name === former && coldMs > now.getTime())
    return { kind: 'warm', untilMs: coldMs };
  return { kind: 'standby' };
}

function servingFate(sleep: Sleep): RevisionFate {
  if (sleep.kind === 'suspended') return { kind: 'suspended', serves: true, sleep };
  return sleep.kind === 'asleep' ? { kind: 'asleep', sleep } : { kind: 'serving', sleep };
}

function decideFate(world: RevisionWorld, situation: Situation): RevisionFate {
  const { revision } = world;
  const { name } = revision.metadata;
  const { serving, newest, isSuspended, now, patience, fall, probations } = situation;
  if (name === fall?.from) return { kind: 'failed', failure: fall.failure, servesInstead: fall.to };
  if (name === serving)
    return isSuspended && situation.sleep.kind !== 'suspended'
      ? { kind: 'suspended', serves: true }
      : servingFate(situation.sleep);
  // a failure stays: suspending must not forget it
  const reported = reportedFailure(revision);
  if (reported) return { kind: 'failed', failure: reported, servesInstead: serving };
  const retiredAt = retirement(revision);
  if (retiredAt !== undefined) return decideRetired(world, retiredAt, situation);
  if (name !== newest) return { kind: 'superseded', by: newest ?? '' };
  if (isSuspended) return { kind: 'suspended', serves: false };
  if (!isBuilt(revision)) return { kind: 'waiting' };
  if (probations.has(name)) return { kind: 'deploying' };
  return judgeProspect(world, now, patience);
}

/** Interval short enough to distinguish a long pause from sleep (`Wakefulness`). */
const LOOK_MS = 20_000;
/** Interval of look-ups of the runs of a revision whose pods follow them. */
const SCALE_MS = 5_000;
/** Nothing wakes the listener when what a pod waits for changes. */
const ASK_MS = 3_000;
/** The interval at which pods of a revision that took over a moment ago are asked. */
const YOUNG_MS = 2_000;

/** Maximum time for which the revision that serves may continue without a pod that is ready. */
function untilJudged({ revision }: RevisionWorld, { now, patience }: Situation): number {
  const ready = findCondition(revision.status?.conditions, CONDITION.ready);
  const sinceMs = ready?.status === 'False' ? Date.parse(ready.lastTransitionTime) : now.getTime();
  return Math.max(1000, Math.min(sinceMs, now.getTime()) + patience.unreadyMs - now.getTime() + 1000);
}

function lookAgain(revisions: readonly PlannedRevision[], situation: Situation): number | undefined {
  const { now, patience, probations, isSuspended } = situation;
  const waits = revisions.flatMap(({ world, fate }) => {
    if (fate.kind === 'retiring' || fate.kind === 'warm') return [fate.untilMs - now.getTime()];
    if (fate.kind === 'serving' && !isSuspended && isYoung(world.revision, now)) return [YOUNG_MS];
    if (fate.kind === 'held' || (fate.kind === 'serving' && findOutage(world))) return [ASK_MS];
    if (fate.kind === 'serving' && !isSuspended && !isWorkloadReady(world))
      return [untilJudged(world, situation)];
    if (fate.kind === 'serving' && (isScaled(world) || isAnsweringFollowed(world))) return [SCALE_MS];
    if (fate.kind !== 'deploying') return [];
    const probation = probations.get(world.revision.metadata.name);
    if (probation !== undefined) return [Math.min(probation, YOUNG_MS)];
    if (world.pods.some(mayAnswer)) return [ASK_MS];
    const readyBy = deployingSince(world, now, patience) + patience.readinessMs;
    return [Math.min(LOOK_MS, patience.imagePullMs, Math.max(1000, readyBy - now.getTime() + 1000))];
  });
  const { lookMs } = situation.sleep;
  if (lookMs !== undefined) waits.push(lookMs);
  return waits.length === 0 ? undefined : Math.max(100, Math.min(...waits));
}

/** Time since which the revision that serves has been ready, as its status has it. */
function readySince(world: RolloutWorld, serving: string | undefined, now: Date): number {
  const one = world.revisions.find(({ revision }) => revision.metadata.name === serving);
  if (!one || world.deployment.spec.rollbackOnFailure === false) return 0;
  const ready = findCondition(one.revision.status?.conditions, CONDITION.ready);
  if (!ready) return 0;
  const isReady = ready.status === 'True' && isWorkloadReady(one);
  return isReady ? Math.min(Date.parse(ready.lastTransitionTime), now.getTime()) : now.getTime();
}

/**
 * Decides a rollout: which revision serves, and what becomes of the others. The old one serves until the new one has been
 * ready for a while. Nothing goes back to an older one by itself, except when the one that took over fails: then at once to
 * the pods of the former one, or once they are started again.
 */
export function planRollout(world: RolloutWorld, now: Date, patience: RolloutPatience): RolloutPlan {
  const current = currentOf(world);
  const chosen = chooseServing(world, current);
  // a newer one that is ready is the better way out
  const way =
    chosen !== undefined && chosen === current?.metadata.name
      ? fallBack(world, chosen, now, patience)
      : undefined;
  const fall = way?.isReady ? way : undefined;
  const serving = fall?.to ?? chosen;
  const server = world.revisions.find(({ revision }) => revision.metadata.name === serving);
  const situation: Situation = {
    sleep: server ? decideSleep(world, server, now) : { kind: 'awake' },
    serving,
    former: formerOf(world, serving)?.revision.metadata.name,
    servesSinceMs: readySince(world, serving, now),
    fall,
    revived: fall ? undefined : way?.to,
    probations: probationsOf(world, current?.metadata.name),
    newest: allRevisions(world).at(-1)?.metadata.name,
    isSuspended: world.deployment.spec.suspend === true,
    now,
    patience,
  };
  const revisions = world.revisions.map((one) => ({ world: one, fate: decideFate(one, situation) }));
  const fallen = fall && revisions.find(({ world: { revision } }) => revision.metadata.name === fall.from);
  return { revisions, serving, fallen, lookAgainMs: lookAgain(revisions, situation) };
}

function probationsOf(world: RolloutWorld, current: string | undefined): ReadonlyMap<string, number> {
  return new Map(
    world.revisions.flatMap((one) => {
      const left = probationLeft(world, one, current);
      return left === undefined || left === 0 ? [] : [[one.revision.metadata.name, left] as const];
    }),
  );
}
