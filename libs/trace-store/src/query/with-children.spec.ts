import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { openPool, type Pool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type StoredRun } from '../index.js';
import { withChildren } from './find-run.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const log = createLogger('test', 'error');
const TENANT = randomUUID();
const PROJECT = randomUUID();

/** Id of the run `n` of a trace. */
const idOf = (trace: string, n: number): string =>
  `00000000-0000-4000-8000-${trace.padEnd(4, '0')}${n.toString(16).padStart(8, '0')}`;

/** A trace whose run `n` is below the runs 0 to `n` - 1, but for no more than `depth` of them. */
function insert(trace: string, runs: number, depth: number): string {
  const id = (n: string): string =>
    `('00000000-0000-4000-8000-${trace.padEnd(4, '0')}' || lpad(to_hex(${n}), 8, '0'))::uuid`;
  const columns = `'${TENANT}'::uuid AS tenant_id, ${id('n')} AS id, ${id('0')} AS trace_id,
    '1960-01-01'::timestamptz + n * interval '1 microsecond' AS start_time, '${PROJECT}'::uuid AS project_id`;
  return `
    INSERT INTO run_keys (tenant_id, id, trace_id, start_time, project_id)
    SELECT ${columns} FROM generate_series(0, ${runs - 1}) n;
    INSERT INTO runs (tenant_id, id, trace_id, start_time, project_id, parent_run_id, parent_run_ids, is_root, name,
      run_type, status, dotted_order, trace_tier, tags)
    SELECT ${columns}, CASE WHEN n > 0 THEN ${id(`least(n, ${depth}) - 1`)} END,
      ARRAY(SELECT ${id('a')} FROM generate_series(0, least(n, ${depth}) - 1) a), n = 0, 'n', 'chain', 'success',
      lpad(n::text, 8, '0'), '', '{}'
    FROM generate_series(0, ${runs - 1}) n;`;
}

describe('children of runs', () => {
  let pool: Pool;
  const received: pg.Client[] = [];

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    const store = openTraceStore({ uri, log, clock: systemClock });
    await store.migrate();
    await store.close();
    pool = openPool({ uri, applicationName: 'test', maxConnections: 1, log });
    pool.on('connect', (client) => received.push(client as pg.Client));
    await pool.query(insert('a', 4, 1) + insert('b', 400, 399) + insert('c', 2_100, 40));
    await pool.query(insert('d', 30_002, 1));
  });
  afterAll(() => pool.end());

  const run = (trace: string, n: number): StoredRun =>
    ({
      row: { tenantId: TENANT, projectId: PROJECT, traceId: idOf(trace, 0), id: idOf(trace, n) },
      payloads: {},
    }) as unknown as StoredRun;

  async function childrenOf(
    runs: readonly StoredRun[],
    hold?: (bytes: number) => void,
  ): Promise<readonly StoredRun['children'][]> {
    return (await withChildren(pool, TENANT, runs, { hold })).map(({ children }) => children);
  }

  const numbered = (trace: string, from: number, to: number): string[] =>
    Array.from({ length: to - from }, (_id, at) => idOf(trace, from + at));

  it('has those below each run in the order of the trace', async () => {
    expect(await childrenOf([run('a', 0), run('a', 3)])).toEqual([
      { all: numbered('a', 1, 4), direct: numbered('a', 1, 4) },
      { all: [], direct: [] },
    ]);
  });

  it('separates the direct ones from those further below', async () => {
    const [children] = await childrenOf([run('c', 38)]);
    expect(children).toEqual({ all: numbered('c', 39, 2_100), direct: [idOf('c', 39)] });
  });

  it('has none of another tenant or project', async () => {
    const { row } = run('a', 0);
    const others = [{ ...run('a', 0), row: { ...row, projectId: randomUUID() } }, run('a', 0)];
    expect((await childrenOf(others)).map((children) => children?.all.length)).toEqual([0, 3]);
    expect((await withChildren(pool, randomUUID(), [run('a', 0)], {}))[0]?.children?.all).toEqual([]);
  });

  it('reads no ancestors but those of the answer', async () => {
    const bytes = (): number =>
      received.reduce((sum, client) => sum + (client.connection.stream as Socket).bytesRead, 0);
    const before = bytes();
    const [children] = await childrenOf([run('b', 0)]);
    expect(children?.all.length).toBe(399);
    expect(bytes() - before).toBeLessThan(100_000);
  });

  it('says how much the ids hold before they are answered', async () => {
    const held: number[] = [];
    await childrenOf([run('b', 0)], (bytes) => held.push(bytes));
    expect(held).toEqual([399 * 78]);
  });

  it.each<[string, readonly StoredRun[]]>([
    ['with too many runs', [run('d', 0)]],
    ['with too many ids for the runs of a page', Array.from({ length: 40 }, (_run, n) => run('c', n))],
  ])('answers nothing of a trace %s', async (_which, runs) => {
    expect((await childrenOf(runs)).every((children) => children === undefined)).toBe(true);
  });
});
