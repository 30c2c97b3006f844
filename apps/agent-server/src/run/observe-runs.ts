import { metrics, withSpan } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import type { Outcome } from '../protocol/execution.js';
import { countTraceErasures } from '../store/statement/trace-erasures.js';
import type { ClaimedRun, ServerIdentity } from '../store/row/claimed-run.js';
import { countQueuedRuns } from '../store/statement/runs.js';
import type { Sql } from '../store/sql.js';
import { WORKER } from '../store/worker-scope.js';
import type { RunLogs } from './run-logs.js';

/** Sampling interval, long enough that a graph which computes runs in between. */
const SAMPLE_MS = 20;

/** Lets a scrape read how busy this thread is. Nothing is measured between scrapes. @returns ends the reading */
function readEventLoop(): () => void {
  let before = performance.eventLoopUtilization();
  const ends = [
    metrics.eventLoopBusy.read(() => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      return utilization;
    }),
    metrics.eventLoopLag.read(async () => {
      const startedMs = systemClock.monotonicMs();
      await systemClock.sleep(SAMPLE_MS);
      return Math.max(0, systemClock.monotonicMs() - startedMs - SAMPLE_MS) / 1000;
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}

type RunOutcome = 'success' | 'interrupted' | 'error' | 'timeout' | 'cancelled' | 'handed_back' | 'lost';

function outcomeOf(outcome: Outcome): RunOutcome {
  switch (outcome.kind) {
    case 'ended': {
      const { status, threadStatus } = outcome.end;
      if (status === 'interrupted') return 'cancelled';
      return status === 'success' && threadStatus === 'interrupted' ? 'interrupted' : status;
    }
    case 'handed-back':
      return 'handed_back';
    case 'lost':
    case 'crashed':
      return 'lost';
    default:
      return outcome satisfies never;
  }
}

/** Performs an attempt of a run, counted, timed and as a span: below the request's where a request made the run here. */
export async function observedAttempt(
  { runId, attempt, graphId }: ClaimedRun,
  perform: () => Promise<Outcome>,
): Promise<Outcome> {
  const startedMs = systemClock.monotonicMs();
  const attributes = { 'run.id': runId, attempt, graph: graphId };
  const outcome = await withSpan('agent run', attributes, perform);
  metrics.agentRunAttempts.add(1, { outcome: outcomeOf(outcome) });
  metrics.agentRunDuration.observe((systemClock.monotonicMs() - startedMs) / 1000);
  return outcome;
}

/** Lets a scrape read the numbers of running and queued runs, and of readers. @returns ends the reading */
export function readRuns(parts: {
  readonly worker: { readonly runs: readonly unknown[]; readonly places: number };
  readonly logs: Pick<RunLogs, 'readers'>;
  readonly sql: Sql;
  readonly server: ServerIdentity;
  readonly http: { readonly unsentBytes: number };
}): () => void {
  const { worker, logs, sql, server, http } = parts;
  const ends = [
    readEventLoop(),
    metrics.agentRunsInProgress.read(() => worker.runs.length),
    metrics.agentRunPlaces.read(() => worker.places),
    metrics.agentStreamReaders.read(() => logs.readers),
    metrics.agentUnsentBytes.read(() => http.unsentBytes),
    metrics.agentErasuresWaiting.read(() => countTraceErasures(WORKER, sql)),
    metrics.agentRunsQueued.read(() => countQueuedRuns(WORKER, sql, server)),
  ];
  return () => {
    for (const end of ends) end();
  };
}
