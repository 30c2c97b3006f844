// Memory after many runs: nothing of them may stay.
import { byCallers } from '../numbers.mjs';
import { residentOf } from '../process-tree.mjs';
import { OURS } from '../rows.mjs';
import { setTimeout as sleep } from 'node:timers/promises';

const FIRST = 1_000;
const ALL = 10_000;
const BODY = { assistant_id: 'echo', input: { text: 'hello' } };

/** Every tenth run is on a thread of its own. */
async function perform({ client }, count) {
  let n = 0;
  await byCallers(16, { seconds: Infinity, most: count }, async () => {
    if (n++ % 10 > 0) return client.post('/runs/wait', BODY);
    const { thread_id } = await client.post('/threads', {});
    return client.post(`/threads/${thread_id}/runs/wait`, BODY);
  });
}

export async function memory({ servers, restart }) {
  const server = await restart(servers.find(({ name }) => name === OURS));
  await perform(server, FIRST);
  await sleep(2_000);
  const first = residentOf(server.pid);
  await perform(server, ALL - FIRST);
  await sleep(2_000);
  const last = residentOf(server.pid);
  process.stdout.write(`  ${first.toFixed(0)} MB after ${FIRST} runs, ${last.toFixed(0)} MB after ${ALL}\n`);
  return [
    {
      ...{ what: `RSS after ${ALL} runs, more than after ${FIRST}`, unit: '%', peers: {} },
      ...{ ours: (last / first - 1) * 100, least: { below: 10 }, aim: { below: 10 } },
    },
  ];
}
