import { randomUUID } from 'node:crypto';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { type Instant, instantOf, systemClock } from '#lib/time';
import { openTraceStore } from '../open-trace-store.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const DAYS_MS = 400 * 86_400_000;
const MINUTE = 60_000_000n;

it.each([DAYS_MS, -DAYS_MS])(
  'keeps the time of the database for a run without a start, with a clock that is %i ms off',
  async (offMs) => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    const clock = { ...systemClock, now: () => new Date(systemClock.now().getTime() + offMs) };
    const store = openTraceStore({ uri, poolSize: 2, log: createLogger('test', 'silent'), clock });
    await store.migrate();
    const [tenant, id] = [randomUUID(), randomUUID()];
    const run = Buffer.from(JSON.stringify({ id, name: 'r', run_type: 'chain' }));
    expect(await store.ingest(tenant, { post: [{ run }], patch: [] })).toMatchObject({ accepted: 1 });
    const stored = (await store.runs.get(tenant, id))?.row.startTime as Instant;
    const off = stored - instantOf(systemClock.now());
    expect(off < MINUTE && off > -MINUTE).toBe(true);
    await store.close();
  },
);
