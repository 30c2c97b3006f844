import { type BulkExport, type ConditionDraft, REASON } from '#lib/resources';
import type { ExportDecision } from './decide.js';
import { credentialsAwaited, isFinished, placeAwaited, retryReported, runPhase } from './export-phase.js';
import type { ExportWorld } from './world.js';

type Draft = Omit<ConditionDraft, 'type'>;

/**
 * Running condition of an export that has not ended. While it waits for a place of the platform, it repeats
 * the message of its first run. Between two runs of one worker no run is at work, and nothing waits.
 * @param note further report of an export at work
 * @returns undefined while other conditions report the reason for its waiting
 */
export function runningDraft(world: ExportWorld, decision: ExportDecision, note: string): Draft | undefined {
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
    ? { status: 'True', reason: REASON.started, message: `runs are in progress${note}` }
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
  const message = `run ${first.name}${others}: ${first.message}`;
  return { status: 'True', reason: REASON.retrying, message };
}

/** Waiting in the queue, or for the window to end, is not an objection. */
export function isInLine(reason: string): boolean {
  return reason === REASON.queued || reason === REASON.waitingForWindow;
}

function suspendedDraft({ spec }: BulkExport, atWork: number): Draft | undefined {
  if (!spec.suspend) return undefined;
  const others = atWork === 0 ? '' : `; ${atWork} in progress ${atWork === 1 ? 'goes' : 'go'} on to the end`;
  const message = `suspended: no further run begins until spec.suspend is false${others}`;
  return { status: 'False', reason: REASON.suspended, message };
}
