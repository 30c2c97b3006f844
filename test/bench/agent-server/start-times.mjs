// Start of an agent server to ready, in turns with another checkout: node bin/node24.js test/bench/agent-server/start-times.mjs [CHECKOUT] [TIMES]
import { loadavg } from 'node:os';
import { resolve } from 'node:path';
import { quantile } from './numbers.mjs';
import { startOwnServer, startPostgres } from './own.mjs';

const [other, times = '9'] = process.argv.slice(2);
const checkouts = [resolve(import.meta.dirname, '..', '..', '..'), ...(other ? [resolve(other)] : [])];
const postgres = await startPostgres(50);
const taken = new Map(checkouts.map((checkout) => [checkout, []]));
try {
  // the first ones make tables and warm the file cache
  for (let n = -1; n < Number(times); n++)
    for (const checkout of checkouts) {
      const begun = performance.now();
      const server = await startOwnServer({ uri: postgres.uri, agent: 'tokens', checkout });
      if (n >= 0) taken.get(checkout).push(performance.now() - begun);
      await server.stop();
    }
} finally {
  await postgres.stop();
}
for (const [checkout, ms] of taken) {
  ms.sort((a, b) => a - b);
  process.stdout.write(
    `${checkout}: fastest ${ms[0].toFixed(0)}, p50 ${quantile(ms, 0.5).toFixed(0)} ms of ${times}, load ${loadavg()[0].toFixed(1)}\n`,
  );
}
