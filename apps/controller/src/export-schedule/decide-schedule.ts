import {
  MAX_PARTITIONS,
  openWindow,
  type SchedulePlan,
  schedulePosition,
  type SchedulePosition,
  type Window,
} from '#lib/export-plan';
import {
  type BulkExport,
  type BulkExportDestination,
  isDeleting,
  REASON,
  type Workspace,
} from '#lib/resources';
import { formatInstant, type Instant, instantOf, MICROS_PER_DAY, parseInstant } from '#lib/time';
import type { Project } from '#lib/trace-store';
import { decideAcceptance, type Obstacle } from '../bulk-export/decide.js';
import { isFinished } from '../bulk-export/export-phase.js';

/** Everything that one schedule depends on, read in one go. */
export interface ScheduleWorld {
  readonly schedule: BulkExport;
  readonly workspace: Workspace | undefined;
  readonly destination: BulkExportDestination | undefined;
  readonly project: Pick<Project, 'id' | 'name'> | undefined;
  /** The exports that it made and that exist. */
  readonly children: readonly BulkExport[];
  /** End of the latest window of those that are archived. */
  readonly archivedUntil?: Instant | undefined;
  /** The database's clock. */
  readonly now: Date;
  /** Most exports of a schedule that have not ended: those of the workspace that may run at a time. */
  readonly maxUnfinished: number;
}

/** Reason why a live schedule makes no export at the moment. */
export type ScheduleRest =
  /** Its next window has not ended. */
  | 'scheduled'
  /** `spec.suspend`: windows that end are caught up with later. */
  | 'suspended'
  /** The maximum number of its exports is unfinished. */
  | 'behind';

/** Next step for a schedule. */
export type ScheduleDecision =
  /** It was cancelled, or refused; final. */
  | { readonly kind: 'finished' }
  | { readonly kind: 'cancel' }
  | Obstacle
  /** Makes the export of its next window, or the one that was asked for. */
  | {
      readonly kind: 'spawn';
      readonly window: Window;
      readonly projectId: string;
      /** The request that it is made for; absent for a window of the schedule. */
      readonly requestId?: string;
    }
  /** Looks again after `ms`. */
  | { readonly kind: 'rest'; readonly why: ScheduleRest; readonly projectId: string; readonly ms: number };

/** Ticks look more often; this is for the second in which a window ends. */
const LONGEST_REST_MS = 60_000;

function instant(text: string | undefined): Instant | undefined {
  return text === undefined ? undefined : parseInstant(text, { zone: 'required' });
}

/** @returns undefined when the spec holds no time that can be read */
export function planOf({ spec: { startTime, intervalHours } }: BulkExport): SchedulePlan | undefined {
  const start = instant(startTime);
  return start === undefined || intervalHours === undefined ? undefined : { start, intervalHours };
}

/**
 * The end of the last window that an export was made for. It only ever grows: of what the status says, the exports that
 * exist and those that are archived, the latest counts. So a status that was lost, or not written any more after the
 * export was made, makes no window twice.
 */
export function spawnedUntil(
  plan: SchedulePlan,
  { schedule, children, archivedUntil }: Pick<ScheduleWorld, 'schedule' | 'children' | 'archivedUntil'>,
): Instant {
  const ends = children
    .filter(({ spec }) => spec.sourceExport?.runRequestId === undefined)
    .map(({ spec }) => instant(spec.endTime));
  return [instant(schedule.status?.spawnedUntil), archivedUntil, ...ends].reduce<Instant>(
    (latest, one) => (one !== undefined && one > latest ? one : latest),
    plan.start,
  );
}

/** The exports that count against the limit of the schedule. */
export function countUnfinished(children: readonly BulkExport[]): number {
  return children.filter((child) => !isFinished(child) && !isDeleting(child)).length;
}

/** True when the requested export is still to be made. */
export function isRunRequested({
  schedule,
  children,
}: Pick<ScheduleWorld, 'schedule' | 'children'>): boolean {
  const id = schedule.spec.runRequest?.id;
  if (id === undefined || id === schedule.status?.handledRunRequestId) return false;
  return !children.some(({ spec }) => spec.sourceExport?.runRequestId === id);
}

function refused(message: string): Obstacle {
  return { kind: 'fail', reason: REASON.invalidWindow, message };
}

/** A typo in the year would make exports for decades. */
function decideStart(plan: SchedulePlan, until: Instant, now: Instant): Obstacle | undefined {
  const days = (now - plan.start) / MICROS_PER_DAY;
  if (until > plan.start || days <= BigInt(MAX_PARTITIONS)) return undefined;
  return refused(
    `startTime ${formatInstant(plan.start, 'if-any')} lies ${days} days back; a schedule may begin at most ${MAX_PARTITIONS} days back`,
  );
}

/**
 * An obstacle that keeps a live schedule from making exports may pass; only one that never began is refused
 * finally.
 */
function passing(obstacle: Obstacle, { schedule }: ScheduleWorld): Obstacle {
  if (obstacle.kind === 'wait' || schedule.status?.spawnedUntil === undefined) return obstacle;
  return { kind: 'wait', reason: obstacle.reason, message: obstacle.message, ms: LONGEST_REST_MS };
}

function restUntil({ next }: SchedulePosition, now: Instant): number {
  return Math.max(200, Math.min(LONGEST_REST_MS, Number((next.end - now) / 1000n)));
}

/** Decides a schedule. Pure: the same world gives the same answer. One export at most, the earliest first. */
export function decideSchedule(world: ScheduleWorld): ScheduleDecision {
  const { schedule, children, maxUnfinished, project } = world;
  if (isFinished(schedule)) return { kind: 'finished' };
  if (schedule.spec.cancel) return { kind: 'cancel' };
  const plan = planOf(schedule);
  if (!plan)
    return refused(
      `startTime must be an ISO 8601 timestamp with a zone, but is "${schedule.spec.startTime ?? ''}"`,
    );
  const obstacle = decideAcceptance({ ...world, bulkExport: schedule });
  if (obstacle) return passing(obstacle, world);
  const now = instantOf(world.now);
  const until = spawnedUntil(plan, world);
  const start = decideStart(plan, until, now);
  if (start) return start;
  const projectId = schedule.status?.tracingProjectId ?? project?.id ?? '';
  const requestId = schedule.spec.runRequest?.id;
  const open = requestId !== undefined && isRunRequested(world) ? openWindow(plan, now) : undefined;
  if (open && requestId !== undefined) return { kind: 'spawn', window: open, projectId, requestId };
  const position = schedulePosition(plan, until, now);
  const rest = (why: ScheduleRest) =>
    ({ kind: 'rest', why, projectId, ms: restUntil(position, now) }) as const;
  if (schedule.spec.suspend) return rest('suspended');
  if (position.due === 0) return rest('scheduled');
  if (countUnfinished(children) >= maxUnfinished) return rest('behind');
  return { kind: 'spawn', window: position.next, projectId };
}
