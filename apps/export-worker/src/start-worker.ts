import { loadConfig } from '#lib/config';
import { type ProgramContext, runProgram } from '#lib/lifecycle';
import { createLogger, type Logger, startTelemetry } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { openTraceStore } from '#lib/trace-store';
import { EXIT_CODE } from './run-attempt.js';
import { CONFIG } from './config.js';
import { takeRuns } from './take-runs.js';

const POOL_SIZE = 3;

/** The program: an attempt of one run, or of several one after the other, then the end. */
export function startWorker(): void {
  const log = createLogger('export-worker');
  runProgram({ log, askedExitCode: EXIT_CODE.retry }, (context) => start(context, log));
}

async function start(context: ProgramContext, parentLog: Logger): Promise<void> {
  const config = loadConfig(CONFIG);
  const log = parentLog.child({}, { level: config.logLevel });
  context.own(await startTelemetry({ program: 'export-worker', log }));
  const traceStore = openTraceStore({
    program: 'export-worker',
    uri: config.databaseUri,
    poolSize: POOL_SIZE,
    log,
    clock: systemClock,
  });
  context.own({ name: 'trace store', stop: () => traceStore.close() });
  const work = takeRuns(config, { traceStore, clock: systemClock, signal: context.signal, log });
  context.own({ name: 'attempt', stop: () => work.then(() => undefined) });
  const exitCode = await work;
  context.stop(exitCode, 'attempt ended');
}
