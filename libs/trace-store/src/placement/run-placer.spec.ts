import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { systemClock } from '#lib/time';
import { openTraceStore, type RunOperation, type TraceStore } from '../index.js';
import { prepareStore, testTraceStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const log = createLogger('test', 'error');
const START = Date.parse('2026-11-20T12:00:00Z');

interface Span {
  readonly id: string;
  readonly parent: Span | undefined;
  readonly start: number;
}

/** Numbers that a test can draw again. */
function draws(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

/** Spans of one trace, its root first. */
function treeOf(size: number, draw: (below: number) => number): readonly Span[] {
  const spans: Span[] = [];
  for (let at = 0; at < size; at++)
    spans.push({ id: randomUUID(), parent: at === 0 ? undefined : spans[draw(at)], start: START + at });
  return spans;
}

function shuffled<T>(items: readonly T[], draw: (below: number) => number): readonly T[] {
  const left = [...items];
  return items.map(() => left.splice(draw(left.length), 1)[0] as T);
}

const segment = ({ id, start }: Span): string =>
  `${new Date(start).toISOString().replace(/[-:.]/g, '').replace('Z', '000Z')}${id}`;

function orderOf(span: Span): string {
  return span.parent ? `${orderOf(span.parent)}.${segment(span)}` : segment(span);
}

function ancestorsOf({ parent }: Span): readonly string[] {
  return parent ? [...ancestorsOf(parent), parent.id] : [];
}

describe('runs that come before their ancestors', () => {
  let store: TraceStore;
  let client: pg.Client;
  let tenant: string;
  let trace: string;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    store = openTraceStore({ uri, log, clock: systemClock });
    await store.migrate();
    client = new pg.Client({ connectionString: uri });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await store.close();
  });
  beforeEach(() => {
    [tenant, trace] = [randomUUID(), randomUUID()];
  });

  const operation = ({ id, parent, start }: Span, project: string): RunOperation => ({
    run: Buffer.from(
      JSON.stringify({
        id,
        trace_id: trace,
        parent_run_id: parent?.id,
        name: 'n',
        run_type: 'chain',
        session_name: project,
        start_time: start,
        end_time: start + 1,
      }),
    ),
  });
  const send = (spans: readonly Span[], project = 'p') =>
    store.ingest(tenant, { post: spans.map((span) => operation(span, project)), patch: [] });
  const standings = async (): Promise<unknown> => {
    const { rows } = await client.query<{ id: string; dotted_order: string; parent_run_ids: string[] }>(
      'SELECT id, dotted_order, parent_run_ids FROM runs WHERE tenant_id = $1',
      [tenant],
    );
    return new Map(rows.map((row) => [row.id, [row.dotted_order, row.parent_run_ids]]));
  };
  const unplaced = async (): Promise<unknown> =>
    (await client.query('SELECT count(*)::int AS n FROM unplaced_runs WHERE tenant_id = $1', [tenant]))
      .rows[0]?.['n'];
  const expected = (spans: readonly Span[]) =>
    new Map(spans.map((span) => [span.id, [orderOf(span), ancestorsOf(span)]]));

  it.each([1, 2, 3, 4, 5, 6])('gets the same tree in any order and any batches, draw %d', async (seed) => {
    const draw = draws(seed);
    const spans = treeOf(40, draw);
    const order = shuffled(spans, draw);
    for (let from = 0; from < order.length;) {
      const size = 1 + draw(8);
      await send(order.slice(from, from + size));
      from += size;
    }
    expect(await standings()).toEqual(expected(spans));
    expect(await unplaced()).toBe(0);
  });

  it('gets the same tree from senders at once', async () => {
    const draw = draws(7);
    const spans = treeOf(40, draw);
    await Promise.all(shuffled(spans, draw).map((span) => send([span])));
    expect(await standings()).toEqual(expected(spans));
    expect(await unplaced()).toBe(0);
  });

  it('places a chain of which each ancestor comes after its child', async () => {
    const spans: Span[] = [];
    for (let at = 0; at < 60; at++)
      spans.push({ id: randomUUID(), parent: spans[at - 1], start: START + at });
    for (const span of spans.toReversed()) await send([span]);
    expect(await standings()).toEqual(expected(spans));
  });

  it('marks what was placed as changed', async () => {
    const [root, child] = treeOf(2, () => 0) as [Span, Span];
    const mark = async (): Promise<unknown> =>
      (await client.query('SELECT changed_in FROM runs WHERE id = $1', [child.id])).rows[0]?.['changed_in'];
    await send([child]);
    const before = await mark();
    await send([root]);
    expect(await mark()).not.toBe(before);
  });

  it('places nothing below a run of another project', async () => {
    const [root, child] = treeOf(2, () => 0) as [Span, Span];
    await send([child], 'one');
    await send([root], 'other');
    expect(await standings()).toEqual(
      new Map([
        [root.id, [segment(root), []]],
        [child.id, [segment(child), []]],
      ]),
    );
  });

  it('keeps a trace apart from others that have its ids', async () => {
    const [root, child] = treeOf(2, () => 0) as [Span, Span];
    await send([child]);
    const first = trace;
    trace = randomUUID();
    await send([root]);
    expect(await unplaced()).toBe(1);
    trace = first;
    await send([root]);
    expect(await unplaced()).toBe(0);
  });

  it('places in tidying what its sender did not look for', async () => {
    const spans = treeOf(5, draws(3));
    await send(spans.slice(1));
    // the root is stored as by a process that died after its commit
    await client.query('ALTER TABLE unplaced_runs RENAME TO hidden_runs');
    await client.query('CREATE TABLE unplaced_runs (LIKE hidden_runs)');
    await send(spans.slice(0, 1));
    await client.query('DROP TABLE unplaced_runs; ALTER TABLE hidden_runs RENAME TO unplaced_runs');
    expect(await unplaced()).toBe(4);
    await store.tidy();
    expect(await standings()).toEqual(expected(spans));
    expect(await unplaced()).toBe(0);
  });

  it('leaves a run where it is whose parent did not come within a day, with its children below it', async () => {
    const [, top, child] = treeOf(3, (below) => below - 1) as [Span, Span, Span];
    await send([child]);
    await send([top]);
    await client.query(`UPDATE unplaced_runs SET received_at = now() - interval '25 hours'`);
    await store.tidy();
    expect(await standings()).toEqual(
      new Map([
        [top.id, [segment(top), []]],
        [child.id, [`${segment(top)}.${segment(child)}`, [top.id]]],
      ]),
    );
    expect(await unplaced()).toBe(0);
  });

  it('ends the waiting of runs that are each other’s ancestors', async () => {
    const one = { id: randomUUID(), parent: undefined, start: START };
    const other = { id: randomUUID(), parent: one, start: START };
    await send([{ ...one, parent: other }, other]);
    await client.query(`UPDATE unplaced_runs SET received_at = now() - interval '49 hours'`);
    await store.tidy();
    expect(await unplaced()).toBe(0);
  });

  it('deletes with a run that it waits', async () => {
    const [, child] = treeOf(2, () => 0) as [Span, Span];
    await send([child]);
    const project = await store.projects.find(tenant, { name: 'p' });
    await store.erasures.erase(tenant, project?.id ?? '', { traceIds: [trace], threadIds: [] });
    expect(await unplaced()).toBe(0);
  });
});

describe('a trace whose root has not come', () => {
  const stored = testTraceStore();
  const PAGE = { order: 'ascending', limit: 1_000, fields: [], maxBytes: 1_000_000 } as const;

  const operationOf = (span: Span, traceId: string, project: string, isOrdered: boolean): RunOperation => ({
    run: Buffer.from(
      JSON.stringify({
        id: span.id,
        trace_id: traceId,
        name: 'n',
        run_type: 'llm',
        session_name: project,
        start_time: new Date(span.start).toISOString(),
        outputs: { usage: { total_tokens: 1 } },
        ...(span.parent ? { parent_run_id: span.parent.id } : {}),
        ...(isOrdered ? { dotted_order: orderOf(span) } : {}),
      }),
    ),
  });
  /** Senders of dotted orders name traces by their roots. */
  const traceOf = ([root]: readonly Span[], isOrdered: boolean): string =>
    isOrdered ? (root?.id ?? '') : randomUUID();
  const send = async (tenant: string, post: readonly RunOperation[]) =>
    expect((await stored.store.ingest(tenant, { post, patch: [] })).refused).toEqual([]);
  const rootsOf = async (tenant: string, project: string): Promise<string[]> => {
    const projectId = (await stored.store.projects.find(tenant, { name: project }))?.id ?? '';
    const search = { projectIds: [projectId], isRoot: true };
    const { runs } = await stored.store.runs.search(tenant, search, PAGE);
    const { counts } = await stored.store.statistics.ofRuns(tenant, search);
    expect(counts.runs).toBe(runs.length);
    return runs.map(({ row }) => row.id).toSorted();
  };
  /** Runs that represent roots among those that came: the root, else the first whose parent is missing. */
  const expected = (came: readonly Span[]): string[] => {
    const roots = came.filter(({ parent }) => !parent);
    if (roots.length > 0) return roots.map(({ id }) => id);
    const ids = new Set(came.map(({ id }) => id));
    const orphans = came.filter(({ parent }) => !ids.has(parent?.id ?? ''));
    return orphans
      .toSorted((one, other) => one.start - other.start)
      .slice(0, 1)
      .map(({ id }) => id);
  };

  it.each([true, false])('has the first run of it as its root, with dotted orders: %p', async (isOrdered) => {
    for (let seed = 1; seed <= 8; seed++) {
      const draw = draws(seed);
      const tenant = randomUUID();
      const tree = treeOf(14, draw);
      const traceId = traceOf(tree, isOrdered);
      const spans = tree.map((span) => ({ span, project: draw(4) === 0 ? 'other' : 'main' }));
      // of some traces the root never comes
      const left = [...shuffled(spans.slice(seed % 3 === 0 ? 1 : 0), draw)];
      const came: typeof spans = [];
      while (left.length > 0) {
        const some = left.splice(0, 1 + draw(4));
        came.push(...some);
        await send(
          tenant,
          some.map(({ span, project }) => operationOf(span, traceId, project, isOrdered)),
        );
        for (const project of ['main', 'other']) {
          const own = came.filter((one) => one.project === project).map(({ span }) => span);
          if (own.length > 0) expect(await rootsOf(tenant, project)).toEqual(expected(own));
        }
      }
    }
  });

  it('has one root however many senders send it at once', async () => {
    const [tenant, draw] = [randomUUID(), draws(7)];
    for (let traces = 0; traces < 6; traces++) {
      const project = `p${traces}`;
      const spans = treeOf(24, draw);
      const isOrdered = traces % 3 === 0;
      const traceId = traceOf(spans, isOrdered);
      const all = shuffled(spans.slice(traces % 2), draw);
      await Promise.all(
        [0, 1, 2, 3].map(async (sender) => {
          for (const [at, span] of all.entries())
            if (at % 4 === sender) await send(tenant, [operationOf(span, traceId, project, isOrdered)]);
        }),
      );
      expect(await rootsOf(tenant, project)).toEqual(expected(all));
    }
  });

  it('loses its mark with its runs', async () => {
    const [tenant, traceId] = [randomUUID(), randomUUID()];
    const [, child] = treeOf(2, draws(1));
    if (!child) throw new Error('no child');
    await send(tenant, [operationOf(child, traceId, 'main', false)]);
    const projectId = (await stored.store.projects.find(tenant, { name: 'main' }))?.id ?? '';
    await stored.store.erasures.erase(tenant, projectId, { traceIds: [traceId], threadIds: [] });
    const { rows } = await stored.client.query('SELECT FROM trace_tops WHERE tenant_id = $1', [tenant]);
    expect(rows).toHaveLength(0);
  });
});
