import type { Window } from '#lib/export-plan';
import { type ReadyRule, summarizeReady } from '#lib/reconcile';
import {
  type BulkExport,
  type BulkExportStatus,
  type Condition,
  CONDITION,
  type ConditionDraft,
  type ConditionDrafts,
  findCondition,
  idOf,
  REASON,
  type RunCounts,
  setCondition,
  updateConditions,
} from '#lib/resources';
import { formatInstant, instantOf, MICROS_PER_DAY, parseInstant } from '#lib/time';
import type { ExportDecision, ExportWorld } from './decide.js';
import { credentialsAwaited, isFinished, placeAwaited, retryReported, runPhase } from './export-phase.js';

/** Note for an export whose window begins before the data that the workspace keeps; empty for others. */
function retentionNote(
  { workspace, now }: Pick<ExportWorld, 'workspace' | 'now'>,
  window: Window | undefined,
): string {
  const { shortlivedDays = 0, longlivedDays = 0 } = workspace?.spec.retention ?? {};
  const parts = [
    { tier: 'shortlived ', days: shortlivedDays },
    { tier: '', days: longlivedDays },
  ].flatMap(({ tier, days }) => {
    const bound = instantOf(now) - BigInt(days) * MICROS_PER_DAY;
    return days === 0 || !window || window.start >= bound
      ? []
      : [`${tier}traces from before ${formatInstant(bound, 'if-any').slice(0, 10)} (${days} days)`];
  });
  return parts.length === 0 ? '' : `; the workspace does not keep ${parts.join(' and ')}`;
}

type Draft = Omit<ConditionDraft, 'type'>;

/**
 * Running condition of an export that has not ended. While it waits for a place of the platform, it repeats
 * the message of its first run. Between two runs of one worker no run is at work, and nothing waits.
 * @param note further report of an export at work
 * @returns undefined while other conditions report the reason for its waiting
 */
function runningDraft(world: ExportWorld, decision: ExportDecision, note: string): Draft | undefined {
  const { runs, bulkExport, hasWorker } = world;
  if (decision.kind === 'wait' && isInLine(decision.reason)) return suspendedDraft(bulkExport, 0);
  if (decision.kind !== 'run') return undefined;
  const problem = runs.map(credentialsAwaited).find((message) => message !== undefined);
  if (problem !== undefined) return { status: 'False', reason: REASON.credentialsMissing, message: problem };
  const atWork = runs.filter((run) => runPhase(run) === 'running').length;
  const suspended = suspendedDraft(bulkExport, atWork);
  if (suspended) return suspended;
  const failing = retryingDraft(runs);
  if (failing) return failing;
  const first = atWork > 0 || hasWorker ? undefined : runs.find((run) => !isFinished(run));
  const message = first && placeAwaited(first);
  return message === undefined
    ? { status: 'True', reason: REASON.started, message: `days are in progress${note}` }
    : { status: 'False', reason: REASON.queued, message };
}

/**
 * Retrying condition while attempts fail and the export continues, in the words of the first run with a
 * failed attempt.
 */
function retryingDraft(runs: ExportWorld['runs']): Draft | undefined {
  const failing = runs.flatMap((run) => {
    const message = retryReported(run);
    return message === undefined ? [] : [{ name: run.metadata.name, message }];
  });
  const [first] = failing;
  if (!first) return undefined;
  const others = failing.length > 1 ? ` (and ${failing.length - 1} more)` : '';
  const message = `day ${first.name}${others}: ${first.message}`;
  return { status: 'True', reason: REASON.retrying, message };
}

/** Waiting in the queue, or for the window to end, is not an objection. */
function isInLine(reason: string): boolean {
  return reason === REASON.queued || reason === REASON.waitingForWindow;
}

function suspendedDraft({ spec }: BulkExport, atWork: number): Draft | undefined {
  if (!spec.suspend) return undefined;
  const others =
    atWork === 0 ? '' : `; ${atWork} in progress ${atWork === 1 ? 'continues' : 'continue'} to the end`;
  const message = `suspended: no further day begins until spec.suspend is false${others}`;
  return { status: 'False', reason: REASON.suspended, message };
}

/** The condition of its webhook is another reconciler's. */
export const EXPORT_CONDITIONS: readonly string[] = [
  CONDITION.accepted,
  CONDITION.running,
  CONDITION.completed,
  CONDITION.failed,
  CONDITION.ready,
];

const ACCEPTED = { status: 'True', reason: REASON.accepted, message: 'the window is resolved' } as const;

/** @param missing runs that are about to be made, which are counted once */
function countRuns(runs: ExportWorld['runs'], total: number, missing: number): RunCounts {
  const counts = { created: missing, running: 0, completed: 0, failed: 0, cancelled: 0, timedOut: 0 };
  for (const run of runs) counts[runPhase(run)]++;
  return { total: Math.max(total, runs.length), ...counts };
}

function sum(runs: ExportWorld['runs'], field: 'rows' | 'bytes'): number {
  return runs.reduce((total, { status }) => total + (status?.[field] ?? 0), 0);
}

/** Runs weigh by the time they cover: the first and the last day are often short. */
function percentOf(runs: ExportWorld['runs'], window: Window | undefined): number {
  if (!window) return 0;
  let done = 0;
  for (const run of runs) {
    const start = parseInstant(run.spec.startTime, { zone: 'required' }) ?? 0n;
    const end = parseInstant(run.spec.endTime, { zone: 'required' }) ?? start;
    const share = runPhase(run) === 'completed' ? 100 : (run.status?.percent ?? 0);
    done += (Number(end - start) / Number(window.end - window.start)) * share;
  }
  return Math.min(100, Math.round(done));
}

function earliest(times: readonly (string | undefined)[]): string | undefined {
  return times.filter((time) => time !== undefined).sort()[0];
}

/** The conditions that follow from a decision. */
function drafts(decision: ExportDecision, running: ConditionDrafts[string], note: string): ConditionDrafts {
  const draft = { [CONDITION.running]: running };
  switch (decision.kind) {
    case 'finished':
      return {};
    case 'wait':
      return { [CONDITION.accepted]: accepted(decision), ...draft };
    case 'fail':
      return {
        [CONDITION.failed]: { status: 'True', reason: decision.reason, message: decision.message },
        ...draft,
      };
    case 'cancel':
      return {
        [CONDITION.failed]: { status: 'True', reason: REASON.cancelled, message: 'cancelled on request' },
        ...draft,
      };
    case 'run':
      return { [CONDITION.accepted]: ACCEPTED, ...draft };
    case 'complete':
      return {
        [CONDITION.accepted]: ACCEPTED,
        [CONDITION.completed]: {
          status: 'True',
          reason: REASON.completed,
          message: `every day is completed${note}`,
        },
        ...draft,
      };
    default:
      return decision satisfies never;
  }
}

/** The reason of `Ready`, from the other conditions: people look there first. */
function readyRule(conditions: readonly Condition[]): ReadyRule {
  const [completed, running, acceptance] = [CONDITION.completed, CONDITION.running, CONDITION.accepted].map(
    (type) => findCondition(conditions, type),
  );
  const reported = completed ?? running ?? acceptance;
  const { reason, message } = reported ?? {};
  const isBlocked = running?.reason === REASON.credentialsMissing;
  return {
    needs: [CONDITION.accepted, ...(isBlocked ? [CONDITION.running] : [])],
    failures: [CONDITION.failed],
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

function accepted({ reason, message }: { reason: string; message: string }): Omit<ConditionDraft, 'type'> {
  return { status: isInLine(reason) ? 'True' : 'False', reason, message };
}

function conditionsOf(
  world: ExportWorld,
  decision: ExportDecision,
  window: Window | undefined,
): readonly Condition[] {
  const { metadata, status } = world.bulkExport;
  // once it has ended, what it says is about the rows that it read then
  const note = decision.kind === 'finished' ? '' : retentionNote(world, window);
  const conditions = updateConditions(
    status?.conditions?.filter(({ type }) => EXPORT_CONDITIONS.includes(type)),
    drafts(decision, runningDraft(world, decision, note), note),
    metadata.generation,
    world.now,
  );
  return setCondition(
    conditions,
    summarizeReady(conditions, readyRule(conditions), metadata.generation),
    world.now,
  );
}

/** The whole status of an export after a decision. */
export function summarizeExport(world: ExportWorld, decision: ExportDecision): BulkExportStatus {
  const { bulkExport, runs } = world;
  const before = bulkExport.status ?? {};
  const window =
    decision.kind === 'run'
      ? decision.window
      : before.startTime !== undefined && before.endTime !== undefined
        ? {
            start: parseInstant(before.startTime, { zone: 'required' }) ?? 0n,
            end: parseInstant(before.endTime, { zone: 'required' }) ?? 0n,
          }
        : undefined;
  const isEnding = decision.kind === 'fail' || decision.kind === 'cancel' || decision.kind === 'complete';
  const startedAt = before.startedAt ?? earliest(runs.map((run) => run.status?.startedAt));
  const projectId = decision.kind === 'run' ? decision.projectId : before.tracingProjectId;
  const isAccepted = decision.kind === 'run' || (decision.kind === 'wait' && isInLine(decision.reason));
  const destinationId =
    before.destinationId ?? (isAccepted && world.destination ? idOf(world.destination) : undefined);
  const projectName = before.tracingProjectName ?? world.project?.name;
  const missing = decision.kind === 'run' ? decision.missing.length : 0;
  const total = missing > 0 ? runs.length + missing : (before.runs?.total ?? 0);
  return {
    observedGeneration: bulkExport.metadata.generation ?? 1,
    conditions: conditionsOf(world, decision, window),
    ...(window
      ? { startTime: formatInstant(window.start, 'if-any'), endTime: formatInstant(window.end, 'if-any') }
      : {}),
    ...(destinationId === undefined ? {} : { destinationId }),
    ...(projectId === undefined ? {} : { tracingProjectId: projectId }),
    ...(projectName === undefined ? {} : { tracingProjectName: projectName }),
    runs: countRuns(runs, total, missing),
    rows: sum(runs, 'rows'),
    bytes: sum(runs, 'bytes'),
    percent: decision.kind === 'complete' ? 100 : Math.max(before.percent ?? 0, percentOf(runs, window)),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(before.finishedAt !== undefined
      ? { finishedAt: before.finishedAt }
      : isEnding
        ? { finishedAt: world.now.toISOString() }
        : {}),
  };
}
