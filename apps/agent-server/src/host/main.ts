import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { createLogger } from '#lib/telemetry';
import { keepProcessAlive, systemClock } from '#lib/time';
import { forbidExit } from '../graph/forbid-exit.js';
import { Channel } from '../protocol/channel.js';
import { FRAMES_FD } from '../protocol/descriptors.js';
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
const beats = new Int32Array(new SharedArrayBuffer(4));
const watch = new Worker(new URL('../watch/main.js', import.meta.url), {
  workerData: { beats, server: process.ppid, question: `globalThis.${WHO_IS_AT_WORK}?.()` },
  resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 },
});
watch.unref();
watch.on('error', (error) => log.warn({ err: error }, 'watching this process failed'));
const beat = (): void => {
  Atomics.add(beats, 0, 1);
  systemClock.after(500, beat);
};
beat();
keepProcessAlive();
forbidExit();

const channel = new Channel(new Socket({ fd: FRAMES_FD, readable: true, writable: true }));
const host = new GraphHost({ channel, clock: systemClock, log, exit });
channel.listen(
  (frame) => host.receive(frame),
  // the server is gone: nobody may hear of these runs any more
  () => exit(0),
);
