import { Socket } from 'node:net';
import { becomeLaunched, boundHeapGrowth, collectWhenIdle, SPARE } from '#lib/lifecycle';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { Channel } from '../protocol/channel.js';
import { loadEngine } from '../graph/shared-engine.js';
import { useOnce } from '../start/use-once.js';
import { FRAMES_FD } from '../protocol/frame.js';
import { GraphHost } from './graph-host.js';
import { becomeHost } from './host-process.js';

async function warm(): Promise<void> {
  await Promise.all([loadEngine(), useOnce()]);
}

boundHeapGrowth();
collectWhenIdle();
const log = createLogger('agent-server');
const exit = becomeHost(log);
if (process.argv.includes(SPARE)) await becomeLaunched({ warm, exit });

const channel = new Channel(new Socket({ fd: FRAMES_FD, readable: true, writable: true }));
const host = new GraphHost({ channel, clock: systemClock, log, exit });
channel.listen(
  (frame) => host.receive(frame),
  // the server is gone: no client can learn of these runs any more
  () => exit(0),
);
