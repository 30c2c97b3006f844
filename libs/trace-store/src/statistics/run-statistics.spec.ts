import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inTransaction, openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type RunOperation, type TraceStore } from '../index.js';
import { readSums, sumRuns } from './sum-runs.js';
import { addSumsRow, KeyedSums } from './run-statistics-table.js';
import { fillStatistics, foldStatistics } from './fold-statistics.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const log = createLogger('test', 'error');
const TENANT = randomUUID();
const PROJECTS = ['one', 'other'];
const TYPES = ['chain', 'llm', 'tool', 'my own', ''];

/** Numbers as good as random, the same each time. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

interface Known {
  readonly id: string;
  readonly traceId: string;
  readonly startTime: string;
  readonly project: string;
}

describe('the store of statistics', () => {
  let store: TraceStore;
  let pool: Pool;
  const random = randomNumbers(20_261_122);

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    store = openTraceStore({ uri, poolSize: 6, log, clock: systemClock });
    pool = openPool({ uri, applicationName: 'test', maxConnections: 2, log });
    await store.migrate();
  });
  afterAll(async () => {
    await store.close();
    await pool.end();
  });

  const operation = (run: object): RunOperation => ({ run: Buffer.from(JSON.stringify(run)) });
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T;
  const maybe = (value: object): object => (random(2) === 0 ? value : {});
  const at = (minutes: number): string =>
    new Date(Date.parse('2026-11-20T22:30:00Z') + minutes * 60_000).toISOString();

  function newRun(): Known {
    const id = randomUUID();
    return {
      id,
      traceId: random(3) === 0 ? randomUUID() : id,
      startTime: at(random(300)),
      project: pick(PROJECTS),
    };
  }

  function facts({ startTime }: Known): object {
    const end = new Date(Date.parse(startTime) + random(90_000) - 500).toISOString();
    const usage = { input_tokens: random(3_000), output_tokens: random(400), total_cost: random(50) / 1_000 };
    return {
      ...maybe({ run_type: pick(TYPES) }),
      ...maybe({ end_time: end }),
      ...maybe({ outputs: { usage_metadata: { ...usage, total_tokens: random(4_000) } } }),
      ...maybe({ error: random(3) === 0 ? 'it failed' : null }),
      ...maybe({ events: [{ name: 'new_token', time: end }] }),
    };
  }

  function post(run: Known): RunOperation {
    const { id, traceId, startTime, project } = run;
    const parent = id === traceId ? {} : { parent_run_id: traceId };
    const names = { id, trace_id: traceId, ...parent, start_time: startTime, session_name: project };
    return operation({ ...names, name: 'n', ...facts(run) });
  }

  const patch = (run: Known): RunOperation => operation({ id: run.id, trace_id: run.traceId, ...facts(run) });

  const texts = (sums: KeyedSums): string[] =>
    sums
      .entries()
      .map(({ key, sums: one }) => {
        const { projectId, hour, isRoot, runType } = key;
        return [projectId, hour, isRoot, runType, one.totals.join(','), one.encode().toString('hex')].join(
          ' ',
        );
      })
      .sort();

  /** Compares the kept sums with those of the rows, by hour and by day. */
  async function compare(): Promise<void> {
    const [kept, keptDays, rows] = await inTransaction(
      pool,
      async (client) => {
        const ids = (await client.query<{ id: string }>('SELECT id FROM projects')).rows.map(({ id }) => id);
        const hours = new KeyedSums();
        const days = new KeyedSums();
        const DAY = 86_400_000_000n;
        const first = 1_763_596_800_000_000n + 365n * DAY;
        for (let hour = first; hour < first + 3n * DAY; hour += DAY / 24n)
          await readSums(client, TENANT, ids, { from: hour, to: hour + DAY / 24n }, (row) =>
            addSumsRow(hours, row),
          );
        await readSums(client, TENANT, ids, { from: undefined, to: undefined }, (row) =>
          addSumsRow(days, row),
        );
        return [hours, days.byDay(), await sumRuns(client, 'r.tenant_id = $1', [TENANT])] as const;
      },
      ['BEGIN ISOLATION LEVEL REPEATABLE READ'],
    );
    expect(texts(kept)).toEqual(texts(rows));
    expect(texts(keptDays)).toEqual(texts(rows.byDay()));
  }

  async function history(runs: Known[]): Promise<void> {
    const made = Array.from({ length: 12 }, newRun);
    const early = made.filter(() => random(4) === 0);
    await store.ingest(TENANT, { post: [], patch: early.map(patch) });
    const posts = made.map(post);
    const patches = [...made, ...runs].filter(() => random(2) === 0).map(patch);
    await Promise.all([
      store.ingest(TENANT, { post: posts, patch: patches.slice(0, 5) }),
      store.ingest(TENANT, { post: posts.slice(0, 6), patch: patches.slice(5) }),
      store.ingest(TENANT, { post: [], patch: patches.slice(3, 9) }),
      store.tidy(),
    ]);
    await store.ingest(TENANT, { post: posts, patch: patches });
    runs.push(...made);
    const [project] = await store.projects.list(TENANT, { name: pick(PROJECTS) });
    const erased = runs.filter(() => random(40) === 0).map(({ traceId }) => traceId);
    if (project)
      await Promise.all([
        store.erasures.erase(TENANT, project.id, { traceIds: erased, threadIds: [] }),
        store.tidy(),
      ]);
  }

  it('keeps what the rows of runs add up to, whatever happened to them', async () => {
    const runs: Known[] = [];
    for (let round = 0; round < 8; round++) {
      await history(runs);
      await compare();
    }
    const { rows } = await pool.query<{ runs: string }>('SELECT count(*) AS runs FROM runs');
    expect(Number(rows[0]?.runs)).toBeGreaterThan(40);
    await store.tidy();
    await compare();
    const left = await pool.query('SELECT FROM run_statistics WHERE span = 0');
    expect(left.rowCount).toBe(0);
    const twice = await pool.query(
      'SELECT FROM run_statistics GROUP BY tenant_id, project_id, span, hour, is_root, run_type HAVING count(*) > 1',
    );
    expect(twice.rowCount).toBe(0);
  });

  it('fills itself from runs that were stored before, also where that was interrupted', async () => {
    await pool.query(
      `DELETE FROM run_statistics WHERE span <> 1 OR project_id IN (SELECT id FROM projects LIMIT 1)`,
    );
    await pool.query(
      'CREATE TABLE run_statistics_filled (tenant_id uuid, project_id uuid, up_to timestamptz, PRIMARY KEY (tenant_id, project_id))',
    );
    const connection = await pool.connect();
    await fillStatistics(connection);
    connection.release();
    await compare();
  });

  it('drops the sums of a project that is deleted', async () => {
    const [project] = await store.projects.list(TENANT, { name: 'one' });
    await store.projects.delete(TENANT, project?.id ?? '');
    await store.tidy();
    await compare();
    const { rowCount } = await pool.query('SELECT FROM run_statistics WHERE project_id = $1', [project?.id]);
    expect(rowCount).toBe(0);
  });

  it('folds some rows of each tenant in turns, however many another has', async () => {
    const [many, few] = [randomUUID(), randomUUID()].sort() as [string, string];
    const runAt = (hour: number) =>
      operation({
        id: randomUUID(),
        name: 'r',
        run_type: 'llm',
        session_name: 'p',
        start_time: new Date(Date.UTC(2026, 10, 1, hour)).toISOString(),
      });
    await store.ingest(many, { post: Array.from({ length: 200 }, (_, hour) => runAt(hour)), patch: [] });
    await store.ingest(few, { post: [runAt(0)], patch: [] });
    const left = async (tenant: string): Promise<number> => {
      const text = 'SELECT count(*)::int AS n FROM run_statistics WHERE tenant_id = $1 AND span = 0';
      return (await pool.query<{ n: number }>(text, [tenant])).rows[0]?.n ?? -1;
    };
    let transactions = 0;
    const short = {
      query: pool.query.bind(pool),
      connect: async () => {
        if (transactions++ === 5) throw new Error('enough');
        return pool.connect();
      },
    } as unknown as Pool;
    await expect(foldStatistics(short)).rejects.toThrow('enough');
    expect([await left(many), await left(few)]).toEqual([expect.any(Number), 0]);
    expect(await left(many)).toBeGreaterThan(0);
    await foldStatistics(pool);
    expect(await left(many)).toBe(0);
  });

  it('folds few hours in a transaction, since a full one is large', async () => {
    const long = Array.from({ length: 60 }, () => ({ ...newRun(), project: 'long' }));
    const ingested = long.map((run, hour) => post({ ...run, startTime: at(-60 * hour - 10_000) }));
    await store.ingest(TENANT, { post: ingested, patch: [] });
    await store.tidy();
    const { rows } = await pool.query<{ hours: string }>(
      'SELECT count(DISTINCT hour) AS hours FROM run_statistics WHERE span = 1 GROUP BY xmin::text ORDER BY 1 DESC',
    );
    expect(Number(rows[0]?.hours)).toBeLessThanOrEqual(20);
    expect((await pool.query('SELECT FROM run_statistics WHERE span = 0')).rowCount).toBe(0);
  });
});
