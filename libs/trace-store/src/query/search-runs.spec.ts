import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inTransaction, openPool } from '#lib/postgres';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { parseFilter } from '#lib/filter-language';
import { parseInstant, systemClock } from '#lib/time';
import {
  openTraceStore,
  type RunCursor,
  type RunOperation,
  type RunSearch,
  type TraceStore,
} from '../index.js';
import { PostgresPayloadStore } from '../run/payload-store.js';
import type { RunPageOptions } from './run-search.js';
import { searchRuns } from './search-runs.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const log = createLogger('test', 'error');
const TENANT = randomUUID();
const DAYS = ['2026-03-01', '2026-03-02', '2026-03-04'];
const TRACES = 12;
const RUNS_OF_TRACE = 5;

interface Shape {
  readonly id: string;
  readonly trace_id: string;
  readonly parent_run_id?: string;
  readonly session_name: string;
  readonly name: string;
  readonly run_type: string;
  readonly start_time: string;
  readonly dotted_order: string;
  readonly error?: string;
  readonly reference_example_id?: string;
}

const EXAMPLE = randomUUID();
const stamp = (time: string, id: string): string => `${time.replace(/[-:.]/g, '')}${id}`;

/** Traces of two projects on three days; runs of a trace share their start time in pairs. */
function shapes(): Shape[] {
  return Array.from({ length: TRACES }, (_trace, t) => {
    const rootId = randomUUID();
    const day = DAYS[t % DAYS.length];
    const begun = `${day}T10:00:${String(t).padStart(2, '0')}.000000Z`;
    return Array.from({ length: RUNS_OF_TRACE }, (_run, r): Shape => {
      const id = r === 0 ? rootId : randomUUID();
      const start_time = r === 0 ? begun : begun.replace('.000000Z', `.00000${r >> 1}Z`);
      return {
        id,
        ...(r === 0 ? {} : { parent_run_id: rootId }),
        trace_id: rootId,
        session_name: t % 4 === 0 ? 'other' : 'main',
        name: `run ${t}.${r}`,
        run_type: r % 2 === 0 ? 'chain' : 'llm',
        start_time,
        dotted_order: r === 0 ? stamp(begun, id) : `${stamp(begun, rootId)}.${stamp(start_time, id)}`,
        ...(r === 3 ? { error: 'it failed' } : {}),
        ...(r === 4 ? { reference_example_id: EXAMPLE } : {}),
      };
    });
  }).flat();
}

const PAGE: RunPageOptions = { order: 'descending', limit: 7, fields: [], maxBytes: 1_000_000 };

describe('a search of runs', () => {
  const all = shapes();
  let store: TraceStore;
  let uri: string;
  let projects: Readonly<Record<string, string>>;

  beforeAll(async () => {
    ({ uri } = await postgres.freshDatabase(prepareStore));
    store = openTraceStore({ uri, poolSize: 4, log, clock: systemClock });
    await store.migrate();
    const post = all.map((shape): RunOperation => ({
      run: Buffer.from(JSON.stringify(shape)),
      fields: { inputs: Buffer.from(JSON.stringify({ of: shape.name })), outputs: Buffer.from('{}') },
    }));
    const result = await store.ingest(TENANT, { post, patch: [] });
    expect(result.refused).toEqual([]);
    const found = await store.projects.list(TENANT, { limit: 10, offset: 0 });
    projects = Object.fromEntries(found.map(({ name, id }) => [name, id]));
  });
  afterAll(() => store.close());

  const idsOf = (...names: string[]): string[] => names.map((name) => projects[name] ?? '');

  async function read(search: RunSearch, page: Partial<RunPageOptions> = {}): Promise<string[]> {
    const names: string[] = [];
    let after: RunCursor | undefined;
    do {
      const found = await store.runs.search(TENANT, search, { ...PAGE, ...page, after });
      names.push(...found.runs.map(({ row }) => row.name));
      after = found.next;
      expect(found.runs.length <= (page.limit ?? PAGE.limit)).toBe(true);
    } while (after);
    return names;
  }

  /** The ids that plain code finds, newest first. */
  function expected(isWanted: (shape: Shape) => boolean): string[] {
    const key = ({ start_time, id, trace_id }: Shape): string => `${start_time} ${id} ${trace_id}`;
    return all
      .filter(isWanted)
      .sort((one, other) => (key(one) < key(other) ? 1 : -1))
      .map(({ name }) => name);
  }

  it.each(['descending', 'ascending'] as const)('answers every run of a project once, %s', async (order) => {
    const wanted = expected(({ session_name }) => session_name === 'main');
    const found = await read({ projectIds: idsOf('main') }, { order });
    expect(found).toEqual(order === 'descending' ? wanted : wanted.reverse());
  });

  it('puts the runs of several projects in one order', async () => {
    const wanted = expected(() => true);
    expect(await read({ projectIds: idsOf('main', 'other') })).toEqual(wanted);
    expect(await read({})).toEqual(wanted);
  });

  const [first] = all;
  const some = all.filter((_shape, at) => at % 7 === 0).map(({ id }) => id);
  it.each<[string, Partial<RunSearch>, (shape: Shape) => boolean]>([
    ['roots', { isRoot: true }, ({ id, trace_id }) => id === trace_id],
    ['all but roots', { isRoot: false }, ({ id, trace_id }) => id !== trace_id],
    ['a type', { runType: 'llm' }, ({ run_type }) => run_type === 'llm'],
    ['those that failed', { hasError: true }, ({ error }) => error !== undefined],
    ['those that did not fail', { hasError: false }, ({ error }) => error === undefined],
    ['an example', { referenceExampleIds: [EXAMPLE] }, (shape) => shape.reference_example_id === EXAMPLE],
    ['ids', { ids: some }, ({ id }) => some.includes(id)],
    ['a trace', { traceId: first?.trace_id }, ({ trace_id }) => trace_id === first?.trace_id],
    ['children', { parentRunId: first?.id }, ({ parent_run_id }) => parent_run_id === first?.id],
    [
      'a trace without its root',
      { traceId: first?.trace_id, isRoot: false },
      ({ id, trace_id }) => trace_id === first?.trace_id && id !== trace_id,
    ],
    [
      'a time',
      {
        from: parseInstant('2026-03-01T10:00:03.000001Z', { zone: 'required' }),
        to: parseInstant('2026-03-02T10:00:04.000000Z', { zone: 'required' }),
      },
      ({ start_time }) =>
        start_time >= '2026-03-01T10:00:03.000001Z' && start_time <= '2026-03-02T10:00:04.000000Z',
    ],
  ])('finds %s', async (_what, search, isWanted) => {
    const wanted = expected(isWanted);
    expect(wanted).not.toEqual([]);
    expect(await read({ projectIds: idsOf('main', 'other'), ...search }, { limit: 2 })).toEqual(wanted);
  });

  it('reads the payloads that are asked for, as they came', async () => {
    const search = {
      projectIds: idsOf('main'),
      ids: [all.find((shape) => shape.session_name === 'main')?.id ?? ''],
    };
    const { runs } = await store.runs.search(TENANT, search, { ...PAGE, fields: ['inputs', 'error'] });
    expect(
      runs.map(({ row, payloads }) => [payloads.inputs?.toString(), Object.keys(payloads), row.name]),
    ).toEqual([[`{"of":"${runs[0]?.row.name}"}`, ['inputs'], 'run 1.0']]);
  });

  it('ends a page before its payloads are more than is allowed, and goes on from there', async () => {
    const held: number[] = [];
    const page = { fields: ['inputs'], maxBytes: 400, hold: (bytes: number) => held.push(bytes) } as const;
    const found = await read({ projectIds: idsOf('main') }, page);
    expect(found).toEqual(expected(({ session_name }) => session_name === 'main'));
    expect(Math.max(...held)).toBeLessThanOrEqual(400);
    expect(held.length).toBeGreaterThan(found.length / 2 - 1);
  });

  it('reads payloads that are too many for one look', async () => {
    const tenant = randomUUID();
    const trace = randomUUID();
    const post = [trace, randomUUID(), randomUUID()].map((id, at): RunOperation => {
      const start_time = `2026-03-01T10:00:0${at}.000000Z`;
      const run = { id, trace_id: trace, session_name: 'long', name: `${at}`, run_type: 'chain', start_time };
      const parent = at === 0 ? {} : { parent_run_id: trace };
      return {
        run: Buffer.from(JSON.stringify({ ...run, ...parent })),
        fields: { inputs: Buffer.from(JSON.stringify('é'.repeat(300_000 + at))) },
      };
    });
    await store.ingest(tenant, { post, patch: [] });
    const page = { ...PAGE, fields: ['inputs', 'outputs'], maxBytes: 16_000_000 } as const;
    const { runs } = await store.runs.search(tenant, { traceId: trace }, page);
    expect(runs.map(({ payloads }) => JSON.parse(String(payloads.inputs)).length)).toEqual([
      300_002, 300_001, 300_000,
    ]);
    expect(runs.map(({ payloads }) => payloads.outputs)).toEqual([undefined, undefined, undefined]);
  });

  it.each(['a trace', 'ids'])('reads %s without a look at the partitions of other days', async (by) => {
    const [{ id, trace_id: traceId } = { id: '', trace_id: '' }] = all;
    const search = by === 'ids' ? { ids: [id] } : { traceId };
    const page = { ...PAGE, fields: ['inputs'], feedback: true, totals: true, children: true } as const;
    const other = openPool({ uri, applicationName: 'other', maxConnections: 1, log });
    try {
      const found = await inTransaction(other, async (db) => {
        await db.query('LOCK TABLE runs_before_1970, run_payloads_before_1970 IN ACCESS EXCLUSIVE MODE');
        return store.runs.search(TENANT, search, page);
      });
      expect(found.runs.length).toBe(by === 'ids' ? 1 : RUNS_OF_TRACE);
    } finally {
      await other.end();
    }
  });

  it('answers a run that is larger than a page by itself', async () => {
    const { runs, next } = await store.runs.search(
      TENANT,
      { projectIds: idsOf('main') },
      { ...PAGE, fields: ['inputs'], maxBytes: 1 },
    );
    expect([runs.length, next === undefined]).toEqual([1, false]);
  });

  it('finds nothing of another tenant', async () => {
    const search = { projectIds: idsOf('main'), traceId: all[0]?.trace_id };
    expect((await store.runs.search(randomUUID(), search, PAGE)).runs).toEqual([]);
  });

  describe('in payloads', () => {
    const filters = (text: string) => ({ filter: parseFilter(text) });
    /** Each look at this clock takes a second. */
    const hurried = () => {
      let ms = 0;
      return { monotonicMs: () => (ms += 1_000) };
    };

    async function pages(search: RunSearch, order: RunPageOptions['order'] = 'descending') {
      const pool = openPool({ uri, applicationName: 'test', log, maxConnections: 2 });
      const found: (readonly [readonly string[], boolean])[] = [];
      let after: RunCursor | undefined;
      do {
        const page = { ...PAGE, limit: 3, order, after };
        const request = { tenantId: TENANT, search, page };
        const options = { clock: hurried(), firstPiece: 8 };
        const read = await searchRuns(pool, new PostgresPayloadStore(), request, options);
        found.push([read.runs.map(({ row }) => row.name), read.lookedTo !== undefined]);
        after = read.next;
      } while (after);
      await pool.end();
      return found;
    }

    it.each(['descending', 'ascending'] as const)(
      'continues where the time of a page ended: %s',
      async (order) => {
        const search = { projectIds: idsOf('main', 'other'), filters: filters('search("run 5.")') };
        const found = await pages(search, order);
        const names = found.flatMap(([page]) => page);
        expect(names).toEqual(await read(search, { order }));
        expect(names).toHaveLength(RUNS_OF_TRACE);
        expect(found.some(([page, isPart]) => page.length === 0 && isPart)).toBe(true);
        expect(found.at(-1)?.[1]).toBe(false);
      },
    );

    it('finds nothing in several pages, each with how far it looked', async () => {
      const found = await pages({ filters: filters('search("no such text")') });
      expect(found.length).toBeGreaterThan(2);
      expect(found.every(([page]) => page.length === 0)).toBe(true);
    });

    it('meets the other conditions too', async () => {
      const search = { isRoot: true, runType: 'chain', filters: filters('search("run 1")') };
      expect((await pages(search)).flatMap(([page]) => page).toSorted()).toEqual(
        ['run 1.0', 'run 10.0', 'run 11.0'].toSorted(),
      );
    });
  });

  describe('for a text', () => {
    const tenant = randomUUID();
    const FAR = 'x'.repeat(3_000);
    const ids = new Map<string, string>();

    /** Sends a run for each of these, a second apart, and remembers it by its name. */
    async function send(
      runs: Readonly<Record<string, { inputs?: string; outputs?: string; below?: string }>>,
    ) {
      const post = Object.entries(runs).map(([name, { inputs = '', outputs = '', below }]): RunOperation => {
        const id = randomUUID();
        const parent = below === undefined ? undefined : (ids.get(below) ?? '');
        ids.set(name, id);
        const second = String(ids.size).padStart(2, '0');
        const run = {
          id,
          trace_id: parent ?? id,
          parent_run_id: parent,
          name,
          run_type: 'chain',
          session_name: 'texts',
          start_time: `2026-04-01T10:00:${second}.000000Z`,
        };
        const json = (text: string) => Buffer.from(JSON.stringify({ text }));
        return {
          run: Buffer.from(JSON.stringify(run)),
          fields: { inputs: json(inputs), ...(outputs === '' ? {} : { outputs: json(outputs) }) },
        };
      });
      expect((await store.ingest(tenant, { post, patch: [] })).refused).toEqual([]);
    }

    async function patch(name: string, fields: Readonly<Record<string, string>>): Promise<void> {
      const run = Buffer.from(JSON.stringify({ id: ids.get(name), trace_id: ids.get(name) }));
      const payloads = Object.entries(fields).map(([field, text]) => [
        field,
        Buffer.from(JSON.stringify({ text })),
      ]);
      await store.ingest(tenant, { post: [], patch: [{ run, fields: Object.fromEntries(payloads) }] });
    }

    async function pagesOf(text: string, page: Partial<RunPageOptions> = {}, search: RunSearch = {}) {
      const found: string[][] = [];
      let after: RunCursor | undefined;
      do {
        const wanted = { ...search, filters: { filter: parseFilter(`search("${text}")`) } };
        const read = await store.runs.search(tenant, wanted, { ...PAGE, ...page, after });
        found.push(read.runs.map(({ row }) => row.name));
        after = read.next;
      } while (after);
      return found;
    }

    beforeAll(async () => {
      await send({
        early: { inputs: 'a refund, please' },
        child: { inputs: 'the refund of a child', below: 'early' },
        far: { inputs: `${FAR} refund` },
        other: { inputs: 'nothing of it' },
        late: { inputs: 'nothing yet' },
        'a refund in a name': { inputs: 'nothing' },
        shouted: { outputs: 'A REFUND!' },
      });
      await patch('late', { outputs: 'your Refund is on its way' });
    });

    it('answers roots that begin with it at once, then all other runs, each newest first', async () => {
      expect(await pagesOf('refund')).toEqual([
        ['shouted', 'late', 'early'],
        ['a refund in a name', 'far', 'child'],
      ]);
      expect(await pagesOf('refund', { order: 'ascending' })).toEqual([
        ['early', 'late', 'shouted'],
        ['child', 'far', 'a refund in a name'],
      ]);
    });

    it('answers each run once in pages of any size', async () => {
      for (const limit of [1, 2, 3, 4, 5])
        expect((await pagesOf('refund', { limit })).flat()).toEqual([
          'shouted',
          'late',
          'early',
          'a refund in a name',
          'far',
          'child',
        ]);
    });

    it('looks at all runs where no root begins with it, in the same page', async () => {
      expect(await pagesOf('of a child')).toEqual([['child']]);
      expect(await pagesOf('no such text')).toEqual([[]]);
    });

    it('looks at no root where none is wanted', async () => {
      expect(await pagesOf('refund', {}, { isRoot: false })).toEqual([['child']]);
    });

    it('finds a root by a text that replaced another, and no longer by that', async () => {
      await send({ changing: { inputs: 'the former words' } });
      await patch('changing', { inputs: 'the later words' });
      expect((await pagesOf('later words')).flat()).toEqual(['changing']);
      expect((await pagesOf('former words')).flat()).toEqual([]);
    });

    it('finds runs that were stored before roots were marked', async () => {
      const pool = openPool({ uri, applicationName: 'test', log, maxConnections: 1 });
      await send({ unmarked: { inputs: 'from former times' } });
      await pool.query('UPDATE runs SET search_marks = NULL WHERE id = $1', [ids.get('unmarked')]);
      await pool.end();
      expect(await pagesOf('former times')).toEqual([['unmarked']]);
      await patch('unmarked', { outputs: 'with an end' });
      expect((await pagesOf('former times')).flat()).toEqual(['unmarked']);
    });
  });
});
