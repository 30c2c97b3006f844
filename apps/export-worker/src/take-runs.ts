import { errorText } from '#lib/errors';
import { specOfFollowing } from '#lib/export-plan';
import { openObjectStore } from '#lib/object-store';
import { type Logger, parseTraceParent, withSpan } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { StaleAttemptError, type TraceStore } from '#lib/trace-store';
import { EXIT_CODE, outcomeOf, runAttempt } from './run-attempt.js';
import type { WorkerConfig } from './config.js';
import { destinationOf, parseTask } from './export-task.js';
import { ProgressJournal } from './progress-journal.js';

interface WorkerTools {
  readonly traceStore: TraceStore;
  readonly clock: Clock;
  /** Aborted when the program must stop. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

interface AttemptEnd {
  readonly exitCode: number;
  /** Another attempt is in force, or the run was cancelled. */
  readonly isStale: boolean;
  /** The run was cancelled: no attempt of it can be in force. */
  readonly isCancelled: boolean;
}

/**
 * Runs the attempt that the Job is named after and then, as long as each is completed, those that follow.
 * Each is claimed when it is begun, so that the unclaimed ones wait as if they had never been taken. A
 * failure ends the process, and its exit code stands for the run in work. A run that was cancelled, and a following one that
 * belongs to another worker meanwhile, is skipped.
 * @returns the exit code
 */
export async function takeRuns(config: WorkerConfig, tools: WorkerTools): Promise<number> {
  const startedMs = tools.clock.monotonicMs();
  const first = await takeRun(config, tools);
  const isPassedOver = first.isCancelled && config.following.length > 0;
  if (first.exitCode !== EXIT_CODE.done && !isPassedOver) return first.exitCode;
  for (const following of config.following) {
    if (tools.signal.aborted) return EXIT_CODE.retry;
    if (tools.clock.monotonicMs() - startedMs >= config.takeForMs) break;
    const { runUid, exportUid = config.exportUid } = following;
    const spec = specOfFollowing(config.spec, following);
    const next = await takeRun({ ...config, runUid, exportUid, attempt: 1, spec }, tools);
    if (next.exitCode !== EXIT_CODE.done && !next.isStale && !next.isCancelled) return next.exitCode;
  }
  return EXIT_CODE.done;
}

/** Never rejects: whatever happens is recorded, if it can be, and becomes the exit code. */
async function takeRun(config: WorkerConfig, tools: WorkerTools): Promise<AttemptEnd> {
  const { traceStore, clock, signal } = tools;
  const { runUid, attempt } = config;
  const log = tools.log.child({ run: runUid, attempt });
  const journal = new ProgressJournal(traceStore.exportProgress, config, clock, log);
  try {
    const task = parseTask(config);
    const store = openObjectStore(destinationOf(config));
    try {
      const parent = parseTraceParent(config.traceParent);
      const attemptTools = { traceStore, store, journal, log, signal };
      await withSpan('export attempt', { attempt }, () => runAttempt(task, attemptTools), parent);
      return { exitCode: EXIT_CODE.done, isStale: false, isCancelled: false };
    } finally {
      store.close();
    }
  } catch (failure) {
    const record = await traceStore.exportProgress.find(runUid).catch(() => undefined);
    const { exitCode, message } = outcomeOf(failure, attempt, record);
    log.error({ exitCode, error: errorText(failure) }, 'attempt failed');
    if (message !== undefined) await recordFailure(config, traceStore, journal, message, log);
    // a request that was under way at the cancellation fails with an error of its own
    const isCancelled = record?.state === 'cancelled';
    return { exitCode, isStale: failure instanceof StaleAttemptError, isCancelled };
  } finally {
    await journal.stop();
  }
}

/** A failure before the claim is recorded too: the claim is made up for. */
async function recordFailure(
  config: WorkerConfig,
  traceStore: TraceStore,
  journal: ProgressJournal,
  message: string,
  log: Logger,
): Promise<void> {
  try {
    const record = await traceStore.exportProgress.find(config.runUid);
    if (record?.attempt !== config.attempt) await journal.claim();
    await journal.fail(message);
  } catch (error) {
    log.error({ error: errorText(error) }, 'recording the failure of the attempt failed');
  }
}
