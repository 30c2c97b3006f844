import { loadConfig } from '#lib/config';
import { type ProgramContext, runProgram } from '#lib/lifecycle';
import { createLogger, type Logger, startTelemetry } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { openLake, openTraceStore, type LakeConfig, type TraceStore, whyNotSealing } from '#lib/trace-store';
import { EXIT_CODE } from './run-attempt.js';
import { CONFIG } from './config.js';
import { CONFIG as SEAL_CONFIG, MODE } from './seal/config.js';
import { giveWay, sealDays } from './seal/seal-days.js';
import { takeRuns } from './take-runs.js';

const POOL_SIZE = 3;

interface Work {
  readonly name: string;
  readonly config: LakeConfig & { readonly databaseUri: string; readonly logLevel: string };
  /** @returns the exit code; never rejects */
  readonly perform: (traceStore: TraceStore, signal: AbortSignal, log: Logger) => Promise<number>;
}

/** The program: attempts at export runs, or days to seal, one after the other, then the end. */
export function startWorker(): void {
  const log = createLogger('export-worker');
  runProgram({ log, askedExitCode: EXIT_CODE.retry }, (context) =>
    start(loadConfig(MODE).isSealing ? sealing() : exporting(), context, log),
  );
}

function exporting(): Work {
  const config = loadConfig(CONFIG);
  const perform: Work['perform'] = (traceStore, signal, log) =>
    takeRuns(config, { traceStore, clock: systemClock, signal, log });
  return { name: 'attempt', config, perform };
}

function sealing(): Work {
  const config = loadConfig(SEAL_CONFIG);
  const perform: Work['perform'] = async ({ lake }, signal, log) => {
    const why = whyNotSealing(config);
    if (!lake || why !== undefined) {
      log.error({ why }, 'sealing days failed: the lake is not open');
      return EXIT_CODE.unusable;
    }
    giveWay(log);
    return await sealDays({ lake, clock: systemClock, signal, log });
  };
  return { name: 'sealing', config, perform };
}

async function start(
  { name, config, perform }: Work,
  context: ProgramContext,
  parentLog: Logger,
): Promise<void> {
  const log = parentLog.child({}, { level: config.logLevel });
  context.own(await startTelemetry({ program: 'export-worker', log }));
  const traceStore = openTraceStore({
    program: 'export-worker',
    uri: config.databaseUri,
    poolSize: POOL_SIZE,
    lake: openLake(config),
    log,
    clock: systemClock,
  });
  context.own({ name: 'trace store', stop: () => traceStore.close() });
  const work = perform(traceStore, context.signal, log);
  context.own({ name, stop: () => work.then(() => undefined) });
  const exitCode = await work;
  context.stop(exitCode, `${name} ended`);
}
