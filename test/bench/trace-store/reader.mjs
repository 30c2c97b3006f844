// Reads the rows of a project's day as exports do, over and over; started by parts/export-beside.mjs.
import { join } from 'node:path';

const { CHECKOUT, URI, TENANT, PROJECT, DAY } = process.env;
const load = (name) => import(join(CHECKOUT, 'dist/libs', name, 'src/index.js'));
const { openTraceStore } = await load('trace-store');
const { createLogger } = await load('telemetry');
const { parseInstant, systemClock } = await load('time');

const store = openTraceStore({
  uri: URI,
  poolSize: 2,
  log: createLogger('reader', 'error'),
  clock: systemClock,
});
const startTime = parseInstant(DAY, { zone: 'optional' });
for (let n = 0; ; n++) {
  const { stream } = await store.exportSource.read({
    tenantId: TENANT,
    projectId: PROJECT,
    startTime,
    endTime: startTime + 86_400_000_000n,
  });
  for await (const chunk of stream) if (n === 0 && chunk.length > 0) process.stdout.write('.');
}
