import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type RetentionSettings, type TraceStore } from '../index.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const TABLES = ['run_keys', 'runs', 'run_payloads', 'run_pairs'];
const DAY_MS = 86_400_000;

/** A sequence that a seed repeats. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

describe('retention', () => {
  let store: TraceStore;
  let replica: TraceStore;
  let client: pg.Client;
  let now: number;
  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    const open = () =>
      openTraceStore({ uri, poolSize: 4, log: createLogger('test', 'silent'), clock: systemClock });
    [store, replica] = [open(), open()];
    await store.migrate();
    client = new pg.Client({ connectionString: uri });
    await client.connect();
    now = (await store.databaseTime()).getTime();
  });
  afterAll(async () => {
    await client.end();
    for (const one of [store, replica]) await one.close();
  });

  const bytes = (value: object) => ({ run: Buffer.from(JSON.stringify(value)) });
  const runOf = (
    ageDays: number,
    more: { readonly trace_id?: string; readonly [member: string]: unknown } = {},
  ) => {
    const id = randomUUID();
    const trace = more.trace_id ?? id;
    return {
      id,
      trace_id: trace,
      name: 'n',
      run_type: 'chain',
      session_name: 'p',
      inputs: { a: 1 },
      ...(trace === id ? {} : { parent_run_id: trace }),
      start_time: new Date(now - ageDays * DAY_MS).toISOString(),
      extra: { metadata: { a: 1 } },
      ...more,
    };
  };
  const post = (tenant: string, ...runs: object[]) =>
    store.ingest(tenant, { post: runs.map(bytes), patch: [] });
  const idsOf = async (tenant: string, table = 'runs'): Promise<string[]> => {
    const column = table === 'run_pairs' ? 'run_id' : 'id';
    const { rows } = await client.query<{ id: string }>(
      `SELECT DISTINCT ${column} AS id FROM ${table} WHERE tenant_id = $1`,
      [tenant],
    );
    return rows.map(({ id }) => id).sort();
  };
  const tierOf = async (tenant: string, id: string) => (await store.runs.get(tenant, id))?.row.traceTier;

  it('keeps everything where nothing was set, and runs from before tiers as longlived', async () => {
    const tenant = randomUUID();
    const runs = [runOf(5_000), runOf(1, { trace_tier: 'shortlived' })];
    await post(tenant, ...runs);
    await store.tidy();
    expect(await idsOf(tenant)).toEqual(runs.map(({ id }) => id).sort());
    const [old] = runs;
    await client.query(`UPDATE runs SET trace_tier = '' WHERE id = $1`, [old?.id]);
    await store.retention.set(tenant, { shortlivedDays: 14, longlivedDays: 6_000 });
    await store.tidy();
    expect(await idsOf(tenant)).toContain(old?.id);
  });

  it('gives a run the tier of its sender, of its project, of the workspace, and else the long one', async () => {
    const [tenant, other] = [randomUUID(), randomUUID()];
    await store.projects.ensure(tenant, 'short', { traceTier: 'shortlived' });
    const tierAs = async (of: string, more: Record<string, unknown>) => {
      const run = runOf(0, more);
      await post(of, run);
      return tierOf(of, run.id);
    };
    expect(await tierAs(tenant, {})).toBe('longlived');
    expect(await tierAs(tenant, { session_name: 'short' })).toBe('shortlived');
    expect(await tierAs(tenant, { session_name: 'short', trace_tier: 'longlived' })).toBe('longlived');
    await store.retention.set(tenant, { defaultTier: 'shortlived' });
    expect(await tierAs(tenant, {})).toBe('shortlived');
    expect(await tierAs(other, {})).toBe('longlived');
    const odd = await post(other, runOf(0, { trace_tier: 'eternal' }));
    expect(odd).toMatchObject({ accepted: 1, mended: [{ loc: expect.arrayContaining(['trace_tier']) }] });
  });

  it('does not let a sender make a longlived run shortlived', async () => {
    const tenant = randomUUID();
    const run = runOf(0);
    await post(tenant, run);
    await store.ingest(tenant, { post: [], patch: [bytes({ id: run.id, trace_tier: 'shortlived' })] });
    expect(await tierOf(tenant, run.id)).toBe('longlived');
  });

  it.each([1, 2, 3])(
    'removes the runs that have expired, and no other, whatever they are (seed %i)',
    async (seed) => {
      const next = random(seed);
      const settings: RetentionSettings[] = [
        { shortlivedDays: 14, longlivedDays: 400 },
        { shortlivedDays: 3 },
        { longlivedDays: 30 },
        {},
      ];
      const ages = [0, 1, 2.9, 3.1, 10, 13.9, 14.1, 20, 29.9, 30.1, 100, 399, 401, 900, 20_500];
      const ageOf = (run: { readonly start_time: string }) => (now - Date.parse(run.start_time)) / DAY_MS;
      const age = () => ages[next(ages.length)] ?? 0;
      for (const one of settings) {
        const tenant = randomUUID();
        const long = one.longlivedDays ?? Infinity;
        const kept: string[] = [];
        const runs: object[] = [];
        const upgraded: string[] = [];
        const late: object[] = [];
        for (let n = 0; n < 25; n++) {
          const tier = next(2) === 0 ? 'shortlived' : 'longlived';
          const isUpgraded = next(4) === 0;
          const where = { session_name: `p${next(3)}`, trace_tier: tier };
          const root = runOf(age(), where);
          const children = Array.from({ length: next(3) }, () =>
            runOf(age(), { ...where, trace_id: root.id }),
          );
          const after = isUpgraded ? [runOf(age(), { ...where, trace_id: root.id })] : [];
          runs.push(root, ...children);
          late.push(...after);
          if (isUpgraded) upgraded.push(root.id);
          const isLong = tier === 'longlived' || isUpgraded;
          for (const run of [root, ...children, ...after]) {
            // a run that was there says of a late one that its trace was upgraded, as long as it is stored
            const isSaid =
              tier === 'longlived' ||
              !after.includes(run) ||
              [root, ...children].some((one) => ageOf(one) < long);
            const bound = Math.min(long, isLong && isSaid ? Infinity : (one.shortlivedDays ?? Infinity));
            if (ageOf(run) < bound) kept.push(run.id);
          }
        }
        await post(tenant, ...runs);
        for (const trace of upgraded) expect(await store.retention.upgrade(tenant, trace)).toBe(true);
        await post(tenant, ...late);
        await store.retention.set(tenant, one);
        await Promise.all([store.tidy(), replica.tidy()]);
        for (const table of TABLES) expect(await idsOf(tenant, table)).toEqual(kept.sort());
      }
    },
  );

  it('keeps a trace whose id is no run of it, whatever comes after its upgrade', async () => {
    const [tenant, trace_id] = [randomUUID(), randomUUID()];
    const child = runOf(20, { trace_id, trace_tier: 'shortlived' });
    await post(tenant, child);
    expect(await store.retention.upgrade(tenant, trace_id)).toBe(true);
    const root = runOf(21, { trace_id, trace_tier: 'shortlived' });
    await post(tenant, root, runOf(22, { trace_tier: 'shortlived' }));
    await store.retention.set(tenant, { shortlivedDays: 14 });
    await store.tidy();
    expect(await idsOf(tenant)).toEqual([root.id, child.id].sort());
  });

  it('keeps a trace with feedback whose process ended before it upgraded the trace', async () => {
    const tenant = randomUUID();
    const [kept, gone] = [runOf(20, { trace_tier: 'shortlived' }), runOf(20, { trace_tier: 'shortlived' })];
    await post(tenant, kept, gone);
    for (const [run, extends_retention] of [
      [kept, null],
      [gone, false],
    ] as const)
      await client.query(
        `INSERT INTO feedback (tenant_id, id, run_id, key, extends_retention, project_id, trace_id, start_time)
        SELECT tenant_id, gen_random_uuid(), id, 'k', $2, project_id, trace_id, start_time FROM run_keys WHERE id = $1`,
        [run.id, extends_retention],
      );
    await store.retention.set(tenant, { shortlivedDays: 14 });
    await store.tidy();
    expect(await idsOf(tenant)).toEqual([kept.id]);
  });

  it('removes an expired child with its shortlived root though the root is younger', async () => {
    const tenant = randomUUID();
    const root = runOf(13.9, { trace_tier: 'shortlived' });
    await post(tenant, root, runOf(14.1, { trace_id: root.id, trace_tier: 'shortlived' }));
    await store.retention.set(tenant, { shortlivedDays: 14 });
    await store.tidy();
    expect(await idsOf(tenant)).toEqual([root.id]);
  });

  it('lets other tenants go on when one fails, keeps its runs whole, and completes it later', async () => {
    const [stuck, free] = [randomUUID(), randomUUID()];
    for (const tenant of [stuck, free]) await post(tenant, runOf(50), runOf(60), runOf(1));
    await client.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''refused''; END';
      CREATE TRIGGER refuse BEFORE DELETE ON run_keys FOR EACH ROW
        WHEN (OLD.tenant_id = '${stuck}') EXECUTE FUNCTION refuse()`,
    );
    for (const tenant of [stuck, free]) await store.retention.set(tenant, { longlivedDays: 30 });
    await store.tidy();
    for (const table of TABLES) {
      expect(await idsOf(free, table)).toHaveLength(1);
      expect(await idsOf(stuck, table)).toHaveLength(3);
    }
    await client.query('DROP FUNCTION refuse CASCADE');
    await client.query(`UPDATE trace_retention SET due_at = '-infinity' WHERE tenant_id = $1`, [stuck]);
    await replica.tidy();
    for (const table of TABLES) expect(await idsOf(stuck, table)).toHaveLength(1);
  });

  it('drops the partitions of past days that have become empty, and makes them again', async () => {
    const [tenant, other] = [randomUUID(), randomUUID()];
    const partitions = async () => {
      const { rows } = await client.query<{ name: string }>(
        `SELECT relname AS name FROM pg_class WHERE relname ~ '^(runs|run_payloads|run_pairs)_(1991|1993)[0-9_]*$' ORDER BY 1`,
      );
      return rows.map(({ name }) => name);
    };
    const old = (year: number) => runOf(0, { start_time: `${year}-05-05T00:00:00Z` });
    await post(tenant, old(1991), old(1993));
    const kept = old(1993);
    await post(other, kept);
    const before = await partitions();
    expect(before).toHaveLength(6);
    await store.retention.set(tenant, { longlivedDays: 30 });
    // an export reads them
    await client.query('BEGIN; SELECT count(*) FROM runs');
    await store.tidy();
    expect(await idsOf(tenant)).toEqual([]);
    await client.query('COMMIT');
    expect(await partitions()).toEqual(before);
    await store.tidy();
    expect(await partitions()).toEqual(before.filter((name) => name.includes('1993')));
    expect(await idsOf(other)).toEqual([kept.id]);
    const again = old(1991);
    expect(await post(other, again)).toMatchObject({ accepted: 1, refused: [] });
    expect(await idsOf(other)).toEqual([again.id, kept.id].sort());
  });

  it('finds expired runs by indexes, those of the short tier by their own', async () => {
    await client.query('ANALYZE runs');
    await client.query('SET enable_seqscan = off');
    const plan = async (tier: string) => {
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN SELECT project_id, id, trace_id, start_time FROM runs
        WHERE tenant_id = '${randomUUID()}' AND start_time >= '1970-01-01' AND start_time < now() - interval '14 days' ${tier}
        ORDER BY project_id, start_time, id, trace_id LIMIT 1000`,
      );
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    };
    expect(await plan(`AND trace_tier = 'shortlived'`)).toMatch(/Index.*using runs_\w*idx/);
    expect(await plan('')).toMatch(/Index.*using runs_\w*pkey/);
  });
});
