import { type Window } from '#lib/export-plan';
import { type ReadyRule, summarizeReady } from '#lib/reconcile';
import {
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
import { formatInstant, parseInstant } from '#lib/time';
import type { ExportDecision } from './decide.js';
import { runPhase } from './export-phase.js';
import { isInLine, runningDraft } from './export-running.js';
import { retentionNote } from './retention-note.js';
import type { ExportWorld } from './world.js';

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
          message: `every run is completed${note}`,
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
