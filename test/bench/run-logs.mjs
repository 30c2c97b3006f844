// The logs of an agent server: what an idle one costs, and what an event costs in a full log and in a full process.
import { RunLogs } from '../../dist/apps/agent-server/src/run/run-logs.js';
import { systemClock } from '#lib/time';
import { setImmediate } from 'node:timers/promises';
import { readArguments } from './read-arguments.mjs';

const { LOGS: count } = readArguments(
  `npm run bench -- run-logs [LOGS]

Logs of runs in an agent server: what an idle one of LOGS (20,000) costs, and what an event costs in a full log and in a full
process.`,
  { counts: { LOGS: 20_000 } },
).counts;
const MIB = 2 ** 20;
const TIMES = { keptMs: 60_000, resumableMs: 600_000 };
const EVENT = { event: 'custom', data: '"token"' };

function recorded(logs, runId) {
  const log = logs.open(runId);
  logs.record(log);
  log.events.open(1, { event: 'metadata', data: '{}' });
  return log;
}

async function appended(logs, events) {
  const begun = performance.now();
  for (let n = 0; n < events; n++) {
    logs[n % logs.length].events.append(EVENT);
    if (n % 100 === 99) await setImmediate(); // events of one turn are not dropped
  }
  return ((performance.now() - begun) * 1000) / events;
}

{
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const logs = new RunLogs(systemClock, { runBytes: 32 * MIB, processBytes: 1024 * MIB, ...TIMES });
  for (let n = 0; n < count; n++) logs.open(`00000000-0000-0000-0000-${String(n).padStart(12, '0')}`);
  globalThis.gc?.();
  const each = (process.memoryUsage().heapUsed - before) / count;
  console.log(
    `${count} logs without events: ${each.toFixed(0)} bytes of heap each, counted ${(logs.bytes / count).toFixed(0)}`,
  );
}
{
  const logs = new RunLogs(systemClock, { runBytes: 32 * MIB, processBytes: 64 * MIB, ...TIMES });
  const log = recorded(logs, 'full');
  while (log.events.bytes < 31 * MIB) log.events.append(EVENT);
  await setImmediate();
  console.log(`one log of 32 MB that is full: ${(await appended([log], 50_000)).toFixed(1)} µs an event`);
}
{
  const logs = new RunLogs(systemClock, { runBytes: 32 * MIB, processBytes: 64 * MIB, ...TIMES });
  const many = Array.from({ length: count }, (_, n) =>
    Object.assign(recorded(logs, `run ${n}`), { isAtWork: true }),
  );
  while (logs.bytes < 64 * MIB) for (const log of many) log.events.append(EVENT);
  await setImmediate();
  const events = 2_000;
  console.log(
    `${count} logs at work that fill 64 MB: ${(await appended(many, events)).toFixed(1)} µs an event`,
  );
}
process.exit(0);
