import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { testPostgres, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type NewModelPrice, type PriceApplication, type TraceStore } from '../index.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const RUNS = 2_500;
const START = Date.parse('2026-11-20T00:00:00Z');

describe('stored runs that are priced again', () => {
  const tenant = randomUUID();
  let uri: string;
  let store: TraceStore;
  let client: pg.Client;
  let projectId: string;
  let priceId: string;

  const open = (): TraceStore =>
    openTraceStore({ uri, log: createLogger('test', 'silent'), clock: systemClock });
  const price = (promptCost: string): NewModelPrice => ({
    name: 'house',
    matchPattern: '^house',
    matchPath: ['model'],
    provider: undefined,
    startTime: undefined,
    promptCost,
    completionCost: '0',
    promptCostDetails: undefined,
    completionCostDetails: undefined,
  });
  const summed = async (): Promise<string | undefined> =>
    (await store.statistics.ofRuns(tenant, { projectIds: [projectId], filters: {} })).costs?.totalCost;
  const stored = async () => {
    const text = `SELECT sum(total_cost)::float8::text AS total, count(*) FILTER (WHERE price_id IS NOT NULL)::int AS priced,
      count(*) FILTER (WHERE total_cost = 9)::int AS given FROM runs`;
    return (await client.query<{ total: string; priced: number; given: number }>(text)).rows[0];
  };
  const ended = ({ id }: PriceApplication): Promise<PriceApplication> =>
    waitFor(
      async () => {
        const found = await store.priceApplications.find(tenant, id);
        return (found?.completedAt !== undefined || found?.problem !== undefined) && found;
      },
      { what: 'the application to end' },
    );
  const whole = { from: undefined, to: undefined };

  beforeAll(async () => {
    ({ uri } = await postgres.freshDatabase(prepareStore));
    store = open();
    await store.migrate();
    client = new pg.Client({ connectionString: uri });
    await client.connect();
    const post = Array.from({ length: RUNS }, (_, n) => {
      const id = randomUUID();
      // one of ten has a cost of its sender, one of ten is another model, one of ten is no call
      const usage = { input_tokens: 2, output_tokens: 1, ...(n % 10 === 0 ? { total_cost: 9 } : {}) };
      const metadata = { ls_model_name: n % 10 === 1 ? 'elsewhere' : 'house', ls_provider: 'acme' };
      const run = {
        id,
        trace_id: id,
        name: 'n',
        run_type: n % 10 === 2 ? 'chain' : 'llm',
        session_name: 'p',
        start_time: new Date(START + n * 1_000).toISOString(),
        extra: { metadata },
        outputs: { usage_metadata: usage },
      };
      return { run: Buffer.from(JSON.stringify(run)) };
    });
    await store.ingest(tenant, { post, patch: [] });
    projectId = (await store.projects.find(tenant, { name: 'p' }))?.id ?? '';
    priceId = (await store.prices.create(tenant, price('1'))).id;
  });
  afterAll(async () => {
    await client.end();
    await store.close();
  });

  it('shows the models without a price', async () => {
    const search = {
      projectIds: [projectId],
      from: BigInt(START) * 1_000n,
      to: BigInt(START + 10_000_000) * 1_000n,
    };
    expect(await store.priceApplications.unmatched(tenant, search)).toMatchObject([
      { model: 'house', provider: 'acme', runs: 1_750, totalTokens: 5_250 },
      { model: 'elsewhere', provider: 'acme', runs: 250, totalTokens: 750 },
    ]);
    expect(await store.priceApplications.unmatched(randomUUID(), search)).toEqual([]);
  });

  it('loses nothing and counts nothing twice when it is interrupted', async () => {
    await client.query(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.looked_at > 1000 THEN RAISE EXCEPTION 'interrupted'; END IF; RETURN NEW; END $$;
      CREATE TRIGGER fail BEFORE UPDATE ON price_applications FOR EACH ROW EXECUTE FUNCTION fail()`);
    const begun = await store.priceApplications.apply(tenant, { projectId, ...whole });
    expect(await ended(begun)).toMatchObject({ lookedAt: 800, changed: 700, withoutPrice: 100 });
    expect(await stored()).toEqual({ total: '3650', priced: 700, given: 250 });
    expect(await summed()).toBe('3650');
    await client.query(`DROP TRIGGER fail ON price_applications;
      UPDATE price_applications SET claimed_until = '-infinity'`);
    await store.close();
    store = open();
    await store.tidy();
    expect(await ended({ ...begun })).toMatchObject({ lookedAt: 2_000, changed: 1_750, withoutPrice: 250 });
    expect(await stored()).toEqual({ total: '5750', priced: 1_750, given: 250 });
    expect(await summed()).toBe('5750');
  });

  it('writes only what changes, in the window that is asked for', async () => {
    const versions = async () => (await client.query('SELECT id, xmin::text FROM runs ORDER BY id')).rows;
    const before = await versions();
    const same = await ended(await store.priceApplications.apply(tenant, { projectId, ...whole }));
    expect(same).toMatchObject({ lookedAt: 2_000, changed: 0 });
    expect(await versions()).toEqual(before);
    await store.prices.replace(tenant, priceId, price('2'));
    const window = { from: BigInt(START) * 1_000n, to: BigInt(START + 100_000) * 1_000n };
    const some = await ended(await store.priceApplications.apply(tenant, { projectId, ...window }));
    expect(some).toMatchObject({ lookedAt: 80, changed: 70, problem: undefined });
    expect([(await stored())?.total, await summed()]).toEqual(['5890', '5890']);
    await store.prices.remove(tenant, priceId);
    await ended(await store.priceApplications.apply(tenant, { projectId, ...whole }));
    expect(await stored()).toEqual({ total: '2250', priced: 0, given: 250 });
    expect(await summed()).toBe('2250');
  });

  it('refuses more applications at once than there may be', async () => {
    const other = randomUUID();
    await client.query(
      `INSERT INTO price_applications (tenant_id, id, project_id, from_time, to_time, claimed_until)
      SELECT $1, gen_random_uuid(), $2, '-infinity', now(), 'infinity' FROM generate_series(1, 10)`,
      [other, projectId],
    );
    await expect(store.priceApplications.apply(other, { projectId, ...whole })).rejects.toMatchObject({
      code: 'too_many',
    });
    expect(await store.priceApplications.list(other)).toHaveLength(10);
  });
});
