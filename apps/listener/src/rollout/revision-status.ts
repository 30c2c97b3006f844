import {
  type AgentRevision,
  type AgentRevisionStatus,
  type Condition,
  CONDITION,
  type ConditionDraft,
  type ConditionDrafts,
  findCondition,
  isPodReady,
  REASON,
  updateConditions,
} from '#lib/resources';
import { LISTENER_CONDITIONS } from '../hub/hub.js';
import { findProgress, findTrouble } from './failure.js';
import { findPinnedImage } from './pinned-image.js';
import type { PlannedRevision, RevisionFate } from './plan.js';
import { type LastWake, type Sleep, sleepText } from './sleep.js';
import { hasPresentPods, isWorkloadReady } from './ready-spans.js';

type Draft = Omit<ConditionDraft, 'type'>;

function workloadsDraft({ world, fate }: PlannedRevision): Draft | undefined {
  switch (fate.kind) {
    case 'waiting':
    case 'superseded':
      return undefined;
    case 'deploying':
      // until it becomes True or the revision fails: `deployingSince` counts from here
      return { status: 'Unknown', reason: REASON.deploying, message: progressText(world) };
    case 'serving':
    case 'retiring':
    case 'warm':
      if (isWorkloadReady(world))
        return { status: 'True', reason: REASON.available, message: 'every pod is ready' };
      return unreadyDraft(world);
    case 'asleep':
      return {
        status: 'True',
        reason: REASON.asleep,
        message: 'scaled to zero while the deployment is idle',
      };
    case 'standby':
    case 'suspended':
      return { status: 'False', reason: REASON.scaledDown, message: 'scaled to zero' };
    case 'held': // False, so that the deadline counts anew once it is deploying again
    case 'failed':
    case 'blocked':
      return { status: 'False', ...fate.failure };
    default:
      return fate satisfies never;
  }
}

/** Condition of a revision whose pods should be ready and are not. */
function unreadyDraft(world: PlannedRevision['world']): Draft {
  return {
    status: 'False',
    ...(findTrouble(world) ?? {
      reason: podsOf(world).ready === 0 ? REASON.notReady : REASON.deploying,
      message: progressText(world),
    }),
  };
}

function progressText(world: PlannedRevision['world']): string {
  const { wanted, ready } = podsOf(world);
  const isReady = isWorkloadReady(world);
  const counted = `${ready} of ${wanted} pods are ready${isReady ? ' and take over once they stay ready' : ''}`;
  const progress = findProgress(world);
  return progress === undefined ? counted : `${counted}; ${progress}`;
}

/** Pods of both Deployments. */
function podsOf({ workload, queue, pods }: PlannedRevision['world']): { wanted: number; ready: number } {
  const counted = (workload?.status?.readyReplicas ?? 0) + (queue?.status?.readyReplicas ?? 0);
  return {
    wanted: (workload?.spec.replicas ?? 1) + (queue?.spec.replicas ?? 0),
    // the pods themselves say it first; without their Deployment they would be counted in a write of its own
    ready: workload && hasPresentPods(workload) ? Math.max(counted, pods.filter(isPodReady).length) : counted,
  };
}

function activeDraft({ world, fate }: PlannedRevision): Draft | undefined {
  const before = findCondition(world.revision.status?.conditions, CONDITION.active);
  if (fate.kind === 'serving' || fate.kind === 'asleep' || (fate.kind === 'suspended' && fate.serves))
    return { status: 'True', reason: REASON.serving, message: 'the Service points to this revision' };
  // neither moves the Service
  if (fate.kind === 'suspended' || fate.kind === 'blocked')
    return before && { status: before.status, reason: before.reason, message: before.message };
  if (fate.kind === 'failed' && before?.reason === REASON.rolledBack)
    return { status: 'False', reason: before.reason, message: before.message };
  if (fate.kind === 'failed' && before?.status === 'True')
    return {
      status: 'False',
      reason: REASON.rolledBack,
      message: `it failed while it served; the Service points to ${fate.servesInstead ?? 'no revision'} again`,
    };
  return (
    before && { status: 'False', reason: REASON.replaced, message: 'the Service points to a newer revision' }
  );
}

/**
 * Condition of a revision without an image: the progress of its build, or that it will never have one, where
 * the builder reports that.
 */
function waitingDraft({ revision }: PlannedRevision['world']): Draft {
  const built = findCondition(revision.status?.conditions, CONDITION.built);
  return built
    ? { status: built.status === 'False' ? 'False' : 'Unknown', reason: built.reason, message: built.message }
    : { status: 'Unknown', reason: REASON.pending, message: 'waiting for the image' };
}

/** One that wakes up is as good as one that is awake, as long as its start goes well. */
function servingDraft(world: PlannedRevision['world'], sleep: Sleep): Draft {
  const because = sleep.kind === 'awake' && sleep.because !== undefined ? `; ${sleep.because}` : '';
  if (isWorkloadReady(world)) return { status: 'True', reason: REASON.serving, message: `serving${because}` };
  return sleep.kind === 'waking' && sleep.note.problem === undefined
    ? { status: 'True', reason: REASON.waking, message: sleepText(sleep) }
    : unreadyDraft(world);
}

function readyDraft(planned: PlannedRevision): Draft {
  const { fate } = planned;
  switch (fate.kind) {
    case 'serving':
      return servingDraft(planned.world, fate.sleep);
    case 'asleep':
      return { status: 'True', reason: REASON.asleep, message: sleepText(fate.sleep) };
    case 'held':
    case 'failed':
    case 'blocked':
      return { status: 'False', ...fate.failure };
    case 'superseded':
      return {
        status: 'False',
        reason: REASON.newerRevision,
        message: `${fate.by} was made before this revision was ready`,
      };
    case 'waiting':
      return waitingDraft(planned.world);
    case 'deploying':
      return { status: 'False', reason: REASON.deploying, message: progressText(planned.world) };
    case 'retiring':
    case 'warm':
    case 'standby':
      return {
        status: 'False',
        reason: REASON.replaced,
        message:
          planned.world.lentTo === undefined
            ? 'a newer revision serves; kept for a rollback'
            : `revision ${planned.world.lentTo} repeats it on its Deployment`,
      };
    case 'suspended':
      return { status: 'False', reason: REASON.suspended, message: 'the deployment is suspended' };
    default:
      return fate satisfies never;
  }
}

/**
 * The listener's part of a revision's status. `Failed` and `Superseded` exist only while true.
 * @param address where the Service of the deployment is called
 */
export function summarizeRevision(
  planned: PlannedRevision,
  address: string | undefined,
  now: Date,
): AgentRevisionStatus {
  const { world, fate } = planned;
  const { revision, workload } = world;
  const drafts: ConditionDrafts = {
    [CONDITION.workloadsReady]: workloadsDraft(planned),
    [CONDITION.active]: activeDraft(planned),
    [CONDITION.failed]: fate.kind === 'failed' ? { status: 'True', ...fate.failure } : undefined,
    [CONDITION.superseded]:
      fate.kind === 'superseded'
        ? {
            status: 'True',
            reason: REASON.newerRevision,
            message: `${fate.by} was made before this revision was ready`,
          }
        : undefined,
    [CONDITION.ready]: readyDraft(planned),
  };
  const conditions = updateConditions(ownConditions(revision), drafts, revision.metadata.generation, now);
  return {
    ...(revision.metadata.generation === undefined
      ? {}
      : { observedGeneration: revision.metadata.generation }),
    conditions,
    ...(isServing(planned) && address !== undefined ? { url: address } : {}),
    ...(workload ? { workload: workload.metadata.name } : {}),
    ...declaredVersion(world),
    ...pinnedImage(world),
    serving: isServing(planned),
    ...(fate.kind === 'asleep' ? { asleepSince: fate.sleep.since } : {}),
    ...(fate.kind === 'asleep' && fate.sleep.wakeAt !== undefined ? { wakeAt: fate.sleep.wakeAt } : {}),
    ...lastWake(planned),
    replicas: workload ? podsOf(world).wanted : 0,
    readyReplicas: workload ? podsOf(world).ready : 0,
  };
}

/** The wake of a revision that ends with this pass. */
export function endedWake(fate: RevisionFate): LastWake | undefined {
  return fate.kind === 'serving' && fate.sleep.kind === 'awake' ? fate.sleep.woke : undefined;
}

function lastWake({ world, fate }: PlannedRevision): Pick<AgentRevisionStatus, 'lastWake'> {
  const known = endedWake(fate) ?? world.revision.status?.lastWake;
  return known === undefined ? {} : { lastWake: known };
}

/** One that was declared stays while there are no pods to ask. */
function declaredVersion({
  imageVersion,
  revision,
}: PlannedRevision['world']): Pick<AgentRevisionStatus, 'imageVersion'> {
  const known = imageVersion ?? revision.status?.imageVersion;
  return known === undefined ? {} : { imageVersion: known };
}

function pinnedImage(world: PlannedRevision['world']): Pick<AgentRevisionStatus, 'pinnedImage'> {
  const found = findPinnedImage(world);
  return found === undefined ? {} : { pinnedImage: found };
}

/** True when the Service points to it, pods or not: neither suspending nor an obstacle moves the Service. */
function isServing({ world: { revision }, fate }: PlannedRevision): boolean {
  if (fate.kind === 'suspended') return fate.serves;
  if (fate.kind === 'blocked') return revision.status?.serving ?? false;
  return fate.kind === 'serving' || fate.kind === 'asleep';
}

function ownConditions(revision: AgentRevision): readonly Condition[] {
  return (revision.status?.conditions ?? []).filter((condition) =>
    LISTENER_CONDITIONS.includes(condition.type),
  );
}
