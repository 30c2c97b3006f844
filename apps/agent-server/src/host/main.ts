import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { createLogger } from '#lib/telemetry';
import { keepProcessAlive, systemClock } from '#lib/time';
import { forbidExit } from '../graph/forbid-exit.js';
import { Channel } from '../protocol/channel.js';
import { FRAMES_FD } from '../protocol/descriptors.js';
import { startWatch } from '../watch/start-watch.js';
import { GraphHost } from './graph-host.js';
import { offerWhoIsAtWork, WHO_IS_AT_WORK } from './who-is-at-work.js';

const exit = process.exit.bind(process);
const log = createLogger('agent-server');

// The server decides when this process ends: a terminal's Ctrl-C reaches both.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
// A promise that an agent forgot must not end the runs of others.
process.on('unhandledRejection', (reason) => log.error({ err: reason }, 'unhandled rejection'));
process.on('uncaughtException', (error) => {
  writeSync(2, `uncaught exception: ${error.stack ?? String(error)}\n`);
  exit(1);
});

offerWhoIsAtWork();
startWatch(`globalThis.${WHO_IS_AT_WORK}?.()`, log);
keepProcessAlive();
forbidExit();

const channel = new Channel(new Socket({ fd: FRAMES_FD, readable: true, writable: true }));
const host = new GraphHost({ channel, clock: systemClock, log, exit });
channel.listen(
  (frame) => host.receive(frame),
  // the server is gone: nobody may hear of these runs any more
  () => exit(0),
);
