import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { parseFilter } from '#lib/filter-language';
import { createLogger } from '#lib/telemetry';
import { testPostgres } from '#lib/testing';
import { parseInstant, systemClock } from '#lib/time';
import {
  openTraceStore,
  type RunOperation,
  type RunSearch,
  type RunStatistics,
  type TraceStore,
} from '../index.js';
import { prepareStore } from '../../testdata/test-trace-store.js';

const postgres = testPostgres();
const log = createLogger('test', 'error');
const TENANT = randomUUID();
const BEGAN = Date.parse('2026-11-19T23:10:00Z');
const MINUTE = 60_000;

interface Shape {
  readonly id: string;
  readonly traceId: string;
  readonly project: string;
  readonly type: string;
  readonly startMs: number;
  readonly latencyMs: number;
  readonly tokens: number | undefined;
  readonly hasFailed: boolean;
}

/** Traces of a chain with two calls of a model, twelve minutes apart from each other over two days. */
const SHAPES: readonly Shape[] = Array.from({ length: 200 }, (_trace, t) => {
  const traceId = randomUUID();
  const startMs = BEGAN + t * 12 * MINUTE;
  const common = { traceId, project: t % 5 === 0 ? 'other' : 'main', startMs };
  return [
    {
      ...common,
      id: traceId,
      type: 'chain',
      latencyMs: 1_000 + t * 37,
      tokens: undefined,
      hasFailed: t % 10 === 3,
    },
    ...[1, 2].map((n) => ({
      ...common,
      id: randomUUID(),
      type: 'llm',
      latencyMs: 300 + t * n,
      tokens: 10 * n + t,
      hasFailed: false,
    })),
  ];
}).flat();

const iso = (ms: number): string => new Date(ms).toISOString();

function operationOf({
  id,
  traceId,
  project,
  type,
  startMs,
  latencyMs,
  tokens,
  hasFailed,
}: Shape): RunOperation {
  const run = {
    id,
    trace_id: traceId,
    session_name: project,
    name: type,
    run_type: type,
    ...(id === traceId ? {} : { parent_run_id: traceId }),
    start_time: iso(startMs),
    end_time: iso(startMs + latencyMs),
    error: hasFailed ? 'no' : null,
    ...(tokens === undefined
      ? {}
      : {
          outputs: {
            usage_metadata: {
              input_tokens: tokens,
              output_tokens: 1,
              total_tokens: tokens + 1,
              total_cost: 0.25,
            },
          },
        }),
  };
  return { run: Buffer.from(JSON.stringify(run)) };
}

function percentile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  const rank = fraction * (sorted.length - 1);
  const [low = 0, high = 0] = [sorted[Math.floor(rank)], sorted[Math.ceil(rank)]];
  return low + (high - low) * (rank - Math.floor(rank));
}

describe('reading statistics', () => {
  let store: TraceStore;
  let ids: Readonly<Record<string, string>>;

  beforeAll(async () => {
    const { uri } = await postgres.freshDatabase(prepareStore);
    store = openTraceStore({ uri, poolSize: 4, log, clock: systemClock });
    await store.migrate();
    const half = SHAPES.length / 2;
    await store.ingest(TENANT, { post: SHAPES.slice(0, half).map(operationOf), patch: [] });
    await store.tidy();
    // not folded
    await store.ingest(TENANT, { post: SHAPES.slice(half).map(operationOf), patch: [] });
    const found = await store.projects.list(TENANT, {});
    ids = Object.fromEntries(found.map(({ name, id }) => [name, id]));
  });
  afterAll(() => store.close());

  const projectsOf = (...names: string[]): string[] => names.map((name) => ids[name] ?? '');

  function expectSame(found: RunStatistics, runs: readonly Shape[], usage: readonly Shape[]): void {
    expect(found.counts).toEqual({
      runs: runs.length,
      failed: runs.filter(({ hasFailed }) => hasFailed).length,
      streamed: 0,
    });
    const calls = usage.filter(({ tokens }) => tokens !== undefined);
    const total = calls.reduce((sum, { tokens = 0 }) => sum + tokens + 1, 0);
    expect(found.tokens).toEqual({
      totalTokens: total,
      promptTokens: total - calls.length,
      completionTokens: calls.length,
    });
    expect(Number(found.costs?.totalCost ?? 0)).toBe(calls.length / 4);
    const { p50, p99 } = found.percentiles.latency;
    for (const [value = 0, fraction] of [
      [p50, 0.5],
      [p99, 0.99],
    ] as const) {
      const seconds = percentile(
        runs.map(({ latencyMs }) => latencyMs / 1_000),
        fraction,
      );
      expect(Math.abs(value / seconds - 1)).toBeLessThan(0.008);
    }
    const last = Math.max(...runs.map(({ startMs }) => startMs));
    expect(found.lastStartTime).toBe(BigInt(last) * 1000n);
  }

  const instant = (ms: number): bigint => parseInstant(iso(ms), { zone: 'required' }) ?? 0n;
  const isRoot = ({ id, traceId }: Shape): boolean => id === traceId;
  const all = (): boolean => true;
  const DAY = 24 * 60 * MINUTE;
  const [from, to] = [BEGAN + 7 * MINUTE, BEGAN + 2 * DAY - 19 * MINUTE];
  const within = ({ startMs }: Shape): boolean => startMs >= from && startMs <= to;
  const midnight = Date.parse('2026-11-20T00:00:00Z');

  it.each<[string, RunSearch, (shape: Shape) => boolean]>([
    ['all runs', {}, all],
    ['roots', { isRoot: true }, isRoot],
    ['all but roots', { isRoot: false }, (shape) => !isRoot(shape)],
    ['a type', { runType: 'llm' }, ({ type }) => type === 'llm'],
    ['a time that begins and ends within hours', { from: instant(from), to: instant(to) }, within],
    [
      'a day',
      { from: instant(midnight), to: instant(midnight + DAY) - 1n },
      ({ startMs }) => startMs >= midnight && startMs < midnight + DAY,
    ],
    [
      'less than an hour',
      { from: instant(midnight + MINUTE), to: instant(midnight + 50 * MINUTE) },
      ({ startMs }) => startMs >= midnight + MINUTE && startMs <= midnight + 50 * MINUTE,
    ],
    ['runs that failed', { hasError: true }, ({ hasFailed }) => hasFailed],
    [
      'runs that meet a filter',
      { filters: { filter: parseFilter('gt(latency, "4s")') } },
      ({ latencyMs }) => latencyMs > 4_000,
    ],
  ])('adds up %s', async (_what, search, isWanted) => {
    const runs = SHAPES.filter((shape) => shape.project === 'main' && isWanted(shape));
    const usage =
      search.isRoot === true
        ? SHAPES.filter(({ project, type }) => project === 'main' && type === 'llm')
        : runs;
    expectSame(
      await store.statistics.ofRuns(TENANT, { projectIds: projectsOf('main'), ...search }),
      runs,
      usage,
    );
  });

  it('adds up the tokens of the traces whose roots meet a filter', async () => {
    const filters = { filter: parseFilter('gt(latency, "4s")') };
    const runs = SHAPES.filter((shape) => isRoot(shape) && shape.latencyMs > 4_000);
    const traces = new Set(runs.map(({ traceId }) => traceId));
    const usage = SHAPES.filter(({ traceId }) => traces.has(traceId));
    const search = { projectIds: projectsOf('main', 'other'), isRoot: true, filters };
    expectSame(await store.statistics.ofRuns(TENANT, search), runs, usage);
  });

  it('answers those of one run, of one trace', async () => {
    const [, call] = SHAPES;
    if (!call) throw new Error('there are shapes');
    expectSame(await store.statistics.ofRuns(TENANT, { ids: [call.id] }), [call], [call]);
    const trace = SHAPES.filter(({ traceId }) => traceId === call.traceId);
    expectSame(await store.statistics.ofRuns(TENANT, { traceId: call.traceId }), trace, trace);
  });

  it('answers those of each project by itself', async () => {
    const found = await store.statistics.ofProjects(TENANT, projectsOf('main', 'other'), { isRoot: true });
    for (const name of ['main', 'other']) {
      const own = SHAPES.filter(({ project }) => project === name);
      const statistics = found.get(ids[name] ?? '');
      if (!statistics) throw new Error(`no statistics of ${name}`);
      expectSame(statistics, own.filter(isRoot), own);
    }
  });

  it('answers plain values, whose distributions are sorted once', async () => {
    const sorted = jest.spyOn(Array.prototype, 'sort');
    const found = await store.statistics.ofProjects(TENANT, projectsOf('main', 'other'), { isRoot: true });
    // of each project: of its roots, and of its calls of models
    const buckets = (sorted.mock.contexts as unknown[][][]).filter(
      (list) => Array.isArray(list[0]) && typeof list[0][0] === 'number',
    );
    sorted.mockRestore();
    expect(buckets).toHaveLength(4);
    expect(structuredClone(found)).toEqual(found);
  });

  it('finds nothing in the last moment of the year 9999, whose next hour has a year of five digits', async () => {
    const [projects, last] = [
      projectsOf('main'),
      parseInstant('9999-12-31T23:59:59.999999Z', { zone: 'required' }),
    ];
    for (const window of [{ from: last }, { from: last, to: last }])
      expect(await store.statistics.ofRuns(TENANT, { projectIds: projects, ...window })).toMatchObject({
        counts: { runs: 0 },
      });
    const found = await store.statistics.ofRuns(TENANT, { projectIds: projects, to: last });
    expect(found).toEqual(await store.statistics.ofRuns(TENANT, { projectIds: projects }));
  });

  it('finds nothing for another tenant', async () => {
    const found = await store.statistics.ofRuns(randomUUID(), { projectIds: projectsOf('main') });
    expect(found.counts.runs).toBe(0);
    expect([found.percentiles.latency.p50, found.costs, found.lastStartTime]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
