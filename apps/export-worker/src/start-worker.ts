import { loadConfig } from '#lib/config';
import { errorText } from '#lib/errors';
import { type ProgramContext, runProgram } from '#lib/lifecycle';
import { openObjectStore } from '#lib/object-store';
import { createLogger, type Logger, parseTraceParent, startTelemetry, withSpan } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '#lib/trace-store';
import { EXIT_CODE, outcomeOf } from './attempt-outcome.js';
import { CONFIG, type WorkerConfig } from './config.js';
import { destinationOf, parseTask } from './export-task.js';
import { ProgressJournal } from './progress-journal.js';
import { runAttempt } from './run-attempt.js';

const POOL_SIZE = 3;

/** The program: one attempt, then the end. */
export function startWorker(): void {
  const log = createLogger('export-worker');
  runProgram({ log, askedExitCode: EXIT_CODE.retry }, (context) => start(context, log));
}

async function start(context: ProgramContext, parentLog: Logger): Promise<void> {
  const config = loadConfig(CONFIG);
  const log = parentLog.child({ run: config.runUid, attempt: config.attempt }, { level: config.logLevel });
  context.own(await startTelemetry({ program: 'export-worker', log }));
  const traceStore = openTraceStore({
    uri: config.databaseUri,
    poolSize: POOL_SIZE,
    log,
    clock: systemClock,
  });
  context.own({ name: 'trace store', stop: () => traceStore.close() });
  const journal = new ProgressJournal(traceStore.exportProgress, config, systemClock, log);
  const work = attempt(config, traceStore, journal, context.signal, log);
  context.own({ name: 'attempt', stop: () => work.then(() => undefined) });
  const exitCode = await work;
  context.stop(exitCode, 'attempt ended');
}

/** Never rejects: whatever happens is recorded, if it can be, and becomes the exit code. */
async function attempt(
  config: WorkerConfig,
  traceStore: TraceStore,
  journal: ProgressJournal,
  signal: AbortSignal,
  log: Logger,
): Promise<number> {
  try {
    const task = parseTask(config);
    const store = openObjectStore(destinationOf(config));
    try {
      const parent = parseTraceParent(config.traceParent);
      const tools = { traceStore, store, journal, log, signal };
      await withSpan('export attempt', { attempt: config.attempt }, () => runAttempt(task, tools), parent);
      return EXIT_CODE.done;
    } finally {
      store.close();
    }
  } catch (failure) {
    const record = await traceStore.exportProgress.find(config.runUid).catch(() => undefined);
    const { exitCode, message } = outcomeOf(failure, config.attempt, record);
    log.error({ exitCode, error: errorText(failure) }, 'attempt failed');
    if (message !== undefined) await recordFailure(config, traceStore, journal, message, log);
    return exitCode;
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
