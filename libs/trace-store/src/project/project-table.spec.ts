import { randomUUID } from 'node:crypto';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore } from '../open-trace-store.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();

it('finds projects by metadata among more than it looks at at once, newest first', async () => {
  const { uri } = await postgres.freshDatabase(prepareStore);
  const store = openTraceStore({ uri, poolSize: 2, log: createLogger('test', 'silent'), clock: systemClock });
  await store.migrate();
  const tenant = randomUUID();
  for (let n = 0; n < 250; n++)
    await store.projects.ensure(tenant, `p${n}`, { extra: JSON.stringify({ metadata: { third: n % 3 } }) });
  await store.projects.ensure(randomUUID(), 'foreign', { extra: '{"metadata":{"third":0}}' });
  const names = async (offset: number, limit: number): Promise<string[]> => {
    const found = await store.projects.list(tenant, { metadata: { third: 0 }, offset, limit });
    return found.map(({ name }) => name);
  };
  expect(await names(0, 3)).toEqual(['p249', 'p246', 'p243']);
  expect(await names(80, 100)).toEqual(['p9', 'p6', 'p3', 'p0']);
  expect(await names(84, 100)).toEqual([]);
  await store.close();
});
