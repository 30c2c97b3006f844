import { loadConfig } from '#lib/config';
import { errorText } from '#lib/errors';
import { EXIT, runProgram } from '#lib/lifecycle';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { CONFIG } from '../config.js';
import { Database } from '../store/database.js';

const log = createLogger('agent-server');

/** Brings the schema of a deployment's database up to date and ends, for a parent that fills the tables before a server does. */
runProgram({ log, askedExitCode: EXIT.failed }, async (context) => {
  const { postgresUri: uri } = loadConfig({ postgresUri: CONFIG.postgresUri });
  const database = new Database({ uri, poolSize: 2, clock: systemClock, log });
  context.own({ name: 'database', stop: () => database.close() });
  try {
    await database.migrate();
  } catch (error) {
    process.send?.({ failure: errorText(error) });
    throw error;
  }
  context.stop(EXIT.ok, 'the schema is up to date');
});
