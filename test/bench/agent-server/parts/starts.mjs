// From the start of the process until it is ready, on a database that has its schema.
import { inTurns } from '../numbers.mjs';
import { rowsOf } from '../rows.mjs';
import { cpuOf } from '../process-tree.mjs';

export async function start({ kinds, rounds }) {
  const found = await inTurns(kinds, Math.max(rounds, 5), async ({ start }) => {
    const server = await start();
    const cpu = [...cpuOf(server.pid).values()].reduce((sum, ms) => sum + ms, 0);
    server.kill();
    return { ms: server.readyMs, 'CPU ms': cpu };
  });
  return rowsOf(found, 'ms', {
    ...{
      what: 'start of an agent: process start to ready',
      unit: 'ms',
      least: { below: 1500 },
      aim: { below: 600 },
    },
  });
}
