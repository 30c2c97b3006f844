// Memory of one worker in Python with the graph library loaded, once it has served some runs.
import { setTimeout as sleep } from 'node:timers/promises';
import { residentOf, treeOf } from '../process-tree.mjs';
import { OURS } from '../rows.mjs';

const RUNS = 20;

export async function worker({ servers }) {
  const { pid, client } = servers.find(({ name }) => name === OURS);
  for (let run = 0; run < RUNS; run++)
    await client.post('/runs/wait', { assistant_id: 'echo', input: { text: 'hello' } });
  await sleep(1_000);
  const [, ...workers] = treeOf(pid);
  const ours = residentOf(pid, workers);
  process.stdout.write(`  ${workers.length} worker: ${ours.toFixed(0)} MB\n`);
  const bars = { least: { below: 120 }, aim: { below: 90 } };
  return [{ what: 'memory of one worker', unit: 'MB', ours: ours / workers.length, peers: {}, ...bars }];
}
