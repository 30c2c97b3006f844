import { writeSync } from 'node:fs';
import type { Logger } from '#lib/telemetry';
import { keepProcessAlive } from '#lib/time';
import { forbidExit } from '../graph/forbid-exit.js';
import { startWatch } from '../watch/start-watch.js';
import { offerWhoIsAtWork, WHO_IS_AT_WORK } from './who-is-at-work.js';

/**
 * Makes this process one that runs code of an agent for a server, which alone decides when it ends.
 * @returns ends it: the agent cannot
 */
export function becomeHost(log: Logger): (code: number) => never {
  const exit = process.exit.bind(process);
  // a terminal's Ctrl-C reaches the server too
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  // a promise that an agent forgot must not end the work of others
  process.on('unhandledRejection', (reason) => log.error({ err: reason }, 'unhandled rejection'));
  process.on('uncaughtException', (error) => {
    writeSync(2, `uncaught exception: ${error.stack ?? String(error)}\n`);
    exit(1);
  });
  offerWhoIsAtWork();
  startWatch(`globalThis.${WHO_IS_AT_WORK}?.()`, log);
  keepProcessAlive();
  forbidExit();
  return exit;
}
