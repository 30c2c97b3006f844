import { schedulePosition } from '#lib/export-plan';
import { type ReadyRule, summarizeReady } from '#lib/reconcile';
import {
  type BulkExportStatus,
  type Condition,
  CONDITION,
  type ConditionDraft,
  type ConditionDrafts,
  findCondition,
  REASON,
  setCondition,
  updateConditions,
} from '#lib/resources';
import { formatInstant, instantOf } from '#lib/time';
import {
  countUnfinished,
  isRunRequested,
  planOf,
  type ScheduleDecision,
  type ScheduleRest,
  type ScheduleWorld,
  spawnedUntil,
} from './decide-schedule.js';

type Draft = Omit<ConditionDraft, 'type'>;
type Position = Pick<BulkExportStatus, 'spawnedUntil' | 'nextSpawn' | 'windowsBehind'>;

/** Fields that are absent unless they have a value. */
export const SCHEDULE_FIELDS = ['spawnedUntil', 'nextSpawn', 'windowsBehind', 'finishedAt'] as const;

const REST: Readonly<Record<ScheduleRest, string>> = {
  scheduled: REASON.scheduled,
  suspended: REASON.suspended,
  behind: REASON.catchingUp,
};

function restMessage(why: ScheduleRest, position: Position, unfinished: number): string {
  const { nextSpawn = '', windowsBehind = 0 } = position;
  const late = `${windowsBehind} window${windowsBehind === 1 ? '' : 's'} without an export`;
  switch (why) {
    case 'scheduled':
      return `the next export is made at ${nextSpawn}, when its window ends`;
    case 'suspended':
      return `suspended with ${late}; none is skipped once spec.suspend is false`;
    case 'behind':
      return `${late}: ${unfinished} exports of this schedule have not ended, as many as may run at a time`;
    default:
      return why satisfies never;
  }
}

function drafts(decision: ScheduleDecision, position: Position, unfinished: number): ConditionDrafts {
  switch (decision.kind) {
    case 'finished':
      return {};
    case 'wait':
      return {
        [CONDITION.accepted]: { status: 'False', reason: decision.reason, message: decision.message },
      };
    case 'fail':
      return { [CONDITION.failed]: { status: 'True', reason: decision.reason, message: decision.message } };
    case 'cancel':
      return {
        [CONDITION.failed]: { status: 'True', reason: REASON.cancelled, message: 'cancelled on request' },
      };
    case 'spawn':
      return {
        [CONDITION.accepted]: {
          status: 'True',
          reason: REASON.catchingUp,
          message: `makes the export of the window that ended at ${formatInstant(decision.window.end, 'if-any')}`,
        },
      };
    case 'rest':
      return {
        [CONDITION.accepted]: {
          status: 'True',
          reason: REST[decision.why],
          message: restMessage(decision.why, position, unfinished),
        },
      };
    default:
      return decision satisfies never;
  }
}

function readyOf(conditions: readonly Condition[]): ReadyRule {
  const accepted: Draft | undefined = findCondition(conditions, CONDITION.accepted);
  return {
    needs: [CONDITION.accepted],
    failures: [CONDITION.failed],
    ...(accepted ? { reason: accepted.reason, message: accepted.message } : {}),
  };
}

/** Position of the schedule; once it has ended, only how far it came. */
function positionOf(world: ScheduleWorld, hasEnded: boolean): Position {
  const plan = planOf(world.schedule);
  const before = world.schedule.status?.spawnedUntil;
  if (!plan || hasEnded) return before === undefined ? {} : { spawnedUntil: before };
  const until = spawnedUntil(plan, world);
  const { next, due } = schedulePosition(plan, until, instantOf(world.now));
  return {
    spawnedUntil: formatInstant(until, 'if-any'),
    nextSpawn: formatInstant(next.end, 'if-any'),
    windowsBehind: due,
  };
}

function handledRequest(world: ScheduleWorld): string | undefined {
  const { spec, status } = world.schedule;
  return spec.runRequest && !isRunRequested(world) ? spec.runRequest.id : status?.handledRunRequestId;
}

/** The whole status of a schedule after a decision. It is never accepted before everything is there for the first time. */
export function summarizeSchedule(world: ScheduleWorld, decision: ScheduleDecision): BulkExportStatus {
  const { metadata, status: before = {} } = world.schedule;
  const isEnding = decision.kind === 'fail' || decision.kind === 'cancel';
  const hasEnded = isEnding || decision.kind === 'finished';
  const isLive = decision.kind === 'spawn' || decision.kind === 'rest' || before.spawnedUntil !== undefined;
  const position = isLive ? positionOf(world, hasEnded) : {};
  const unfinished = countUnfinished(world.children);
  const conditions = updateConditions(
    before.conditions,
    drafts(decision, position, unfinished),
    metadata.generation,
    world.now,
  );
  const projectId =
    decision.kind === 'spawn' || decision.kind === 'rest' ? decision.projectId : before.tracingProjectId;
  const projectName =
    before.tracingProjectName ?? (projectId === undefined ? undefined : world.project?.name);
  const handled = handledRequest(world);
  const finishedAt = before.finishedAt ?? (isEnding ? world.now.toISOString() : undefined);
  return {
    observedGeneration: metadata.generation ?? 1,
    conditions: setCondition(
      conditions,
      summarizeReady(conditions, readyOf(conditions), metadata.generation),
      world.now,
    ),
    ...(projectId === undefined ? {} : { tracingProjectId: projectId }),
    ...(projectName === undefined ? {} : { tracingProjectName: projectName }),
    ...position,
    unfinishedExports: unfinished,
    ...(handled === undefined ? {} : { handledRunRequestId: handled }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
  };
}
