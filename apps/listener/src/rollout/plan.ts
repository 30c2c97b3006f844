import { wantedQueueReplicas } from '#lib/manifests';
import {
  type AgentRevision,
  CONDITION,
  type Deployment,
  findCondition,
  isConditionTrue,
} from '#lib/resources';
import { deployingSince, findOutage, judgeProspect, type RevisionFailure } from './failure.js';
import { mayAnswer } from './ask-pods.js';
import { servedBy } from './observe.js';
import { isScaled } from './queue-scaler.js';
import type { RevisionWorld, RolloutPatience, RolloutWorld } from './world.js';

/**
 * What should become of one revision. From its creation to its place in the history:
 *
 * - **waiting**: not built yet; no pods
 * - **deploying**: its workload runs and is not ready yet
 * - **held**: as deploying, but something outside of it is unavailable: no deadline counts until that is back
 * - **serving**: the Service points to it
 * - **retiring**: the Service pointed to it a moment ago; connections may still be open
 * - **warm**: the revision that served last; its pods stay for a rollback within a second
 * - **standby**: served once; its Deployment is kept at zero pods for a rollback, or runs a repeat of it
 * - **superseded**: a newer one was made before it was ready
 * - **failed**: cannot be deployed; its workload is removed, the resource says why
 * - **blocked**: an object of another owner has the name of its workload or Service
 * - **suspended**: the deployment is suspended; no pods
 */
export type RevisionFate =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'deploying' }
  | { readonly kind: 'held'; readonly failure: RevisionFailure }
  | { readonly kind: 'serving' }
  | { readonly kind: 'retiring'; readonly untilMs: number }
  | { readonly kind: 'warm'; readonly untilMs: number }
  | { readonly kind: 'standby' }
  | { readonly kind: 'superseded'; readonly by: string }
  | { readonly kind: 'failed'; readonly failure: RevisionFailure }
  | { readonly kind: 'blocked'; readonly failure: RevisionFailure }
  | { readonly kind: 'suspended' };

export interface PlannedRevision {
  readonly world: RevisionWorld;
  readonly fate: RevisionFate;
}

export interface RolloutPlan {
  readonly revisions: readonly PlannedRevision[];
  /** Name of the revision that the Service should point to; undefined until the first is ready. */
  readonly serving: string | undefined;
  /** When to look again even if nothing changes, milliseconds from now. */
  readonly lookAgainMs: number | undefined;
}

/** Whether every pod that should run is ready, of exactly these templates: runs would wait for a queue that is not. */
export function isWorkloadReady({ workload, queue, revision }: RevisionWorld): boolean {
  const fewest = wantedQueueReplicas(revision);
  return isAvailable(workload) && (fewest === undefined || isAvailable(queue, fewest));
}

/** @param fewest pods of a Deployment that is scaled: those beyond are more than it needs to be ready */
function isAvailable(workload: Deployment | undefined, fewest = Infinity): boolean {
  const wanted = Math.min(fewest, workload?.spec.replicas ?? 1);
  const status = workload?.status;
  return (
    workload !== undefined &&
    wanted > 0 &&
    status?.observedGeneration === workload.metadata.generation &&
    (status?.updatedReplicas ?? 0) >= wanted &&
    (status?.availableReplicas ?? 0) >= wanted
  );
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

/** The newest revision that is ready and not older than the one that serves; else the one that serves. */
function chooseServing(world: RolloutWorld): string | undefined {
  const all = allRevisions(world);
  // a Service that was deleted, or lost its name to another owner, does not make its target a former revision
  const current =
    servedBy(world.service)?.revision ??
    all.findLast(({ status }) => isConditionTrue(status?.conditions, CONDITION.active))?.metadata.name;
  const served = all.find(({ metadata }) => metadata.name === current)?.spec.number ?? 0;
  const better = world.revisions.findLast(
    (one) =>
      one.revision.spec.number > served &&
      isBuilt(one.revision) &&
      !reportedFailure(one.revision) &&
      isWorkloadReady(one),
  );
  return better?.revision.metadata.name ?? current;
}

/** A revision that the Service once pointed to, and when it stopped doing so. */
function retirement(revision: AgentRevision): number | undefined {
  const active = findCondition(revision.status?.conditions, CONDITION.active);
  if (!active) return undefined;
  return active.status === 'True' ? Number.POSITIVE_INFINITY : Date.parse(active.lastTransitionTime);
}

/** The revision that served before the one that serves: it was retired last. */
function formerOf({ revisions }: RolloutWorld, serving: string | undefined): string | undefined {
  let former: { readonly name: string; readonly retiredAt: number } | undefined;
  for (const { revision } of revisions) {
    const retiredAt = retirement(revision);
    const { name } = revision.metadata;
    if (retiredAt === undefined || name === serving || reportedFailure(revision)) continue;
    if (!former || retiredAt >= former.retiredAt) former = { name, retiredAt };
  }
  return former?.name;
}

interface Situation {
  readonly serving: string | undefined;
  readonly former: string | undefined;
  readonly newest: string | undefined;
  readonly isSuspended: boolean;
  readonly now: Date;
  readonly patience: RolloutPatience;
}

/** A revision that served once. */
function decideRetired(world: RevisionWorld, retiredAt: number, situation: Situation): RevisionFate {
  const { former, isSuspended, now, patience } = situation;
  // its Deployment runs a repeat of it
  if (isSuspended || world.lentTo !== undefined) return { kind: 'standby' };
  // infinitely late: the status still says active, so the switch happened a moment ago
  const since = Math.min(retiredAt, now.getTime());
  const retiresMs = since + patience.retireMs;
  if (retiresMs > now.getTime()) return { kind: 'retiring', untilMs: retiresMs };
  const coldMs = since + patience.standbyWarmMs;
  if (world.revision.metadata.name === former && coldMs > now.getTime())
    return { kind: 'warm', untilMs: coldMs };
  return { kind: 'standby' };
}

function decideFate(world: RevisionWorld, situation: Situation): RevisionFate {
  const { revision } = world;
  const { name } = revision.metadata;
  const { serving, newest, isSuspended, now, patience } = situation;
  if (name === serving) return { kind: isSuspended ? 'suspended' : 'serving' };
  // a failure stays: suspending must not forget it
  const reported = reportedFailure(revision);
  if (reported) return { kind: 'failed', failure: reported };
  const retiredAt = retirement(revision);
  if (retiredAt !== undefined) return decideRetired(world, retiredAt, situation);
  if (name !== newest) return { kind: 'superseded', by: newest ?? '' };
  if (isSuspended) return { kind: 'suspended' };
  if (!isBuilt(revision)) return { kind: 'waiting' };
  return judgeProspect(world, now, patience);
}

/** Often enough to distinguish a long pause from sleep (`Wakefulness`). */
const LOOK_MS = 20_000;
/** How often is looked at the runs of a revision whose pods follow them. */
const SCALE_MS = 5_000;
/** Nothing wakes the listener when what a pod waits for changes. */
const ASK_MS = 3_000;

function lookAgain(revisions: readonly PlannedRevision[], { now, patience }: Situation): number | undefined {
  const waits = revisions.flatMap(({ world, fate }) => {
    if (fate.kind === 'retiring' || fate.kind === 'warm') return [fate.untilMs - now.getTime()];
    if (fate.kind === 'held' || (fate.kind === 'serving' && findOutage(world))) return [ASK_MS];
    if (fate.kind === 'serving' && isScaled(world)) return [SCALE_MS];
    if (fate.kind !== 'deploying') return [];
    if (world.pods.some(mayAnswer)) return [ASK_MS];
    const readyBy = deployingSince(world, now, patience) + patience.readinessMs;
    return [Math.min(LOOK_MS, patience.imagePullMs, Math.max(1000, readyBy - now.getTime() + 1000))];
  });
  return waits.length === 0 ? undefined : Math.max(100, Math.min(...waits));
}

/**
 * Decides a rollout: which revision serves, and what becomes of the others. The old one serves until the new one is
 * ready; nothing ever goes back to an older one by itself.
 */
export function planRollout(world: RolloutWorld, now: Date, patience: RolloutPatience): RolloutPlan {
  const serving = chooseServing(world);
  const situation: Situation = {
    serving,
    former: formerOf(world, serving),
    newest: allRevisions(world).at(-1)?.metadata.name,
    isSuspended: world.deployment.spec.suspend === true,
    now,
    patience,
  };
  const revisions = world.revisions.map((one) => ({ world: one, fate: decideFate(one, situation) }));
  return { revisions, serving, lookAgainMs: lookAgain(revisions, situation) };
}
