import { loadConfig } from '#lib/config';
import { EXIT, runProgram } from '#lib/lifecycle';
import { createLogger, startTelemetry } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { CONFIG } from './config.js';
import { startApplication } from './start-application.js';

const log = createLogger('controller');
runProgram({ log }, async (context) => {
  const config = loadConfig(CONFIG);
  log.level = config.logLevel;
  context.own(await startTelemetry({ program: 'controller', log }));
  const onLostLeadership = (why: string): void => context.stop(EXIT.failed, why);
  await startApplication({ config, log, clock: systemClock, onLostLeadership }, context);
});
