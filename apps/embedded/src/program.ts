import { join } from 'node:path';
import { loadConfig } from '#lib/config';
import { dataPaths } from '#lib/data-folder';
import { startObjectStore, StoreUserFile } from '#lib/embedded-object-store';
import { type ProgramContext, runProgram } from '#lib/lifecycle';
import { createLogger, type Logger, startTelemetry } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { CONFIG, type EmbeddedConfig } from './config.js';
import { startKubernetes } from './kubernetes.js';
import { startMachine } from './machine.js';

async function start(config: EmbeddedConfig, log: Logger, context: ProgramContext): Promise<void> {
  const { kubeDatabaseUri } = config;
  const store = startObjectStore({
    folder: join(config.dataFolder, 'objects'),
    host: '127.0.0.1',
    port: config.storePort,
    users: new StoreUserFile(dataPaths(config.dataFolder).storeUsers),
    region: config.storeRegion,
    buckets: [
      config.storeBucket,
      ...(config.attachmentBucket === undefined ? [] : [config.attachmentBucket]),
    ],
    log,
    clock: systemClock,
  });
  context.own(await store);
  const server =
    kubeDatabaseUri === undefined
      ? undefined
      : await startKubernetes({ ...config, kubeDatabaseUri }, log, context);
  await startMachine(config, server, log, context);
  process.send?.({ kind: 'ready' });
}

const log = createLogger('embedded');
runProgram({ log }, async (context) => {
  const config = loadConfig(CONFIG);
  log.level = config.logLevel;
  context.own(await startTelemetry({ program: 'embedded', log }));
  await start(config, log, context);
});
