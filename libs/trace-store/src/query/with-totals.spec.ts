import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseFilter } from '#lib/filter-language';
import { readDecimal, readInt64, readUuid } from '#lib/parquet';
import { CopyBinaryReader } from '#lib/postgres';
import { parseInstant } from '#lib/time';
import { testTraceStore } from '../../testdata/test-trace-store.js';
import type { RunCursor, RunOperation, RunSearch } from '../index.js';
import type { RunRow } from '../run/stored-run.js';

const TENANT = randomUUID();
const TRACES = 20;
const RUNS_OF_TRACE = 30;
const COST_DIGITS = 10;

/** A run of a random trace; the first one is its root. */
const randomRun = fc.record({
  /** Index of its parent among the runs before it, as a part of them. */
  parent: fc.nat(999_999),
  type: fc.constantFrom('llm', 'embedding', 'chain', 'tool'),
  /** Never sent; runs below it name it. */
  isMissing: fc.boolean(),
  project: fc.constantFrom('main', 'main', 'other'),
  /** True when its outputs come with an update. */
  isPatched: fc.boolean(),
  tokens: fc.option(fc.nat(1_000), { nil: undefined }),
  cost: fc.option(fc.nat(1_000), { nil: undefined }),
  /** Traces span days, each a partition. */
  day: fc.nat(2),
});
type RandomRun = (typeof randomRun extends fc.Arbitrary<infer T> ? T : never) & { readonly at: number };

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

function operationsOf(runs: readonly RandomRun[]): { post: RunOperation[]; patch: RunOperation[] } {
  const ids = runs.map(() => randomUUID());
  const orders: string[] = [];
  const [post, patch]: [RunOperation[], RunOperation[]] = [[], []];
  for (const [at, one] of runs.entries()) {
    const [id = ''] = ids.slice(at);
    const time = `2026-03-0${one.day + 1}T10:00:00.${String(at).padStart(6, '0')}Z`;
    const parent = one.parent % Math.max(at, 1);
    const segment = time.replace(/[-:.]/g, '') + id;
    orders.push(at === 0 ? segment : `${orders[parent]}.${segment}`);
    if (one.isMissing && at > 0) continue;
    const tree = {
      id,
      trace_id: ids[0],
      dotted_order: orders[at],
      session_name: one.project,
      ...(at === 0 ? {} : { parent_run_id: ids[parent] }),
    };
    const { tokens, cost } = one;
    const usage = {
      ...(tokens === undefined ? {} : { input_tokens: tokens, output_tokens: 7, total_tokens: tokens + 7 }),
      ...(cost === undefined
        ? {}
        : { input_cost: cost / 1_000, output_cost: 0.5, total_cost: cost / 1_000 + 0.5 }),
    };
    const type = at === 0 && one.type === 'tool' ? 'chain' : one.type;
    const outputs = { outputs: json({ usage_metadata: usage }) };
    const begun = { ...tree, name: `run ${at}`, run_type: type, start_time: time };
    post.push({ run: json(begun), fields: one.isPatched ? {} : outputs });
    if (one.isPatched) patch.push({ run: json(tree), fields: outputs });
  }
  return { post, patch };
}

const AMOUNTS = ['totalTokens', 'promptTokens', 'completionTokens'] as const;
const COSTS = ['totalCost', 'promptCost', 'completionCost'] as const;

const unitsOf = (cost: string): bigint => {
  const [whole = '', part = ''] = cost.split('.');
  return BigInt(whole + part.padEnd(COST_DIGITS, '0'));
};

const hasTokens = ({ runType }: RunRow): boolean => runType === 'llm' || runType === 'embedding';

/**
 * The sums that plain code makes of all stored rows. A root has those of all calls of its trace in its
 * project; of other runs, a tool keeps a cost of its own; usage that a chain repeats does not count as its
 * own.
 */
function withSums(row: RunRow, all: readonly RunRow[]): RunRow {
  if (!row.isRoot && (hasTokens(row) || row.totalCost !== undefined)) return row;
  const calls = all.filter(
    (call) =>
      (hasTokens(call) || call.runType === 'tool') &&
      (call.totalTokens !== undefined || call.totalCost !== undefined) &&
      call.traceId === row.traceId &&
      call.projectId === row.projectId &&
      (row.isRoot || call.parentRunIds.includes(row.id)),
  );
  if (calls.length === 0) return row;
  const sums: Record<string, unknown> = {};
  for (const name of AMOUNTS) {
    const known = calls.flatMap((call) => call[name] ?? []);
    sums[name] = known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0);
  }
  for (const name of COSTS) {
    const known = calls.flatMap((call) => call[name] ?? []);
    const sum = String(known.reduce((units, cost) => units + unitsOf(cost), 0n)).padStart(
      COST_DIGITS + 1,
      '0',
    );
    sums[name] = known.length === 0 ? undefined : `${sum.slice(0, -COST_DIGITS)}.${sum.slice(-COST_DIGITS)}`;
  }
  return { ...row, ...sums };
}

describe('a run without tokens and costs of its own', () => {
  const stored = testTraceStore();
  let rows: readonly RunRow[];

  const read = async (page: { limit: number; totals: boolean }): Promise<RunRow[]> => {
    const found: RunRow[] = [];
    let after: RunCursor | undefined;
    do {
      const answer = await stored.store.runs.search(
        TENANT,
        {},
        { ...page, after, order: 'ascending', fields: [], maxBytes: 1_000_000 },
      );
      found.push(...answer.runs.map(({ row }) => row));
      after = answer.next;
    } while (after);
    return found;
  };

  beforeAll(async () => {
    const traces = fc.sample(
      fc.noBias(fc.array(randomRun, { minLength: RUNS_OF_TRACE, maxLength: RUNS_OF_TRACE })),
      {
        numRuns: TRACES,
        seed: 20_261_123,
      },
    );
    for (const runs of traces) {
      const { post, patch } = operationsOf(runs.map((run, at) => ({ ...run, at })));
      for (const some of [
        { post, patch: [] },
        { post: [], patch },
      ])
        expect((await stored.store.ingest(TENANT, some)).refused).toEqual([]);
    }
    // a run that names an ancestor twice is counted once
    await stored.client.query(
      "UPDATE runs SET parent_run_ids = parent_run_ids || parent_run_ids WHERE id::text < '8'",
    );
    rows = await read({ limit: 1_000, totals: false });
  });

  it('has the sums of all calls of models below it in random traces', async () => {
    const wanted = rows.map((row) => withSums(row, rows));
    const summed = wanted.filter((row, at) => row !== rows[at]);
    expect(summed.filter(({ isRoot }) => !isRoot).length).toBeGreaterThan(10);
    expect(summed.filter(({ totalCost }) => totalCost !== undefined).length).toBeGreaterThan(20);
    expect(await read({ limit: 50, totals: true })).toEqual(wanted);
    const others = rows.filter((row) => !hasTokens(row));
    expect(others.filter(({ totalTokens }) => totalTokens !== undefined)).toEqual([]);
    expect(others.filter(({ runType, totalCost }) => runType === 'chain' && totalCost !== undefined)).toEqual(
      [],
    );
  });

  it('has the same when it is read by itself', async () => {
    for (const row of rows.filter((_row, at) => at % 9 === 0)) {
      const found = await stored.store.runs.get(TENANT, row.id, { totals: true });
      expect(found?.row).toEqual(withSums(row, rows));
    }
  });
});

/** Puts a list into another order, which the seed decides. */
function shuffled<T>(list: readonly T[], seed: number): T[] {
  return fc.sample(fc.shuffledSubarray([...list], { minLength: list.length }), { numRuns: 1, seed })[0] ?? [];
}

describe('a trace of which something comes late, twice or in any order', () => {
  const stored = testTraceStore();
  const search = { order: 'ascending', limit: 1_000, fields: [], maxBytes: 1_000_000 } as const;
  const day = (text: string) => parseInstant(text, { zone: 'optional' }) ?? 0n;
  let projectId = '';
  let rows: readonly RunRow[];
  let roots: readonly RunRow[];

  const rowsOf = async (wanted: RunSearch, totals: boolean): Promise<RunRow[]> =>
    (await stored.store.runs.search(TENANT, wanted, { ...search, totals })).runs.map(({ row }) => row);
  const found = async (filter: string): Promise<string[]> =>
    (await rowsOf({ projectIds: [projectId], filters: { filter: parseFilter(filter) } }, false))
      .map(({ id }) => id)
      .toSorted();
  const idsOf = (some: readonly RunRow[]): string[] => some.map(({ id }) => id).toSorted();
  const sumOf = (some: readonly (number | undefined)[]): number =>
    some.reduce<number>((sum, one) => sum + (one ?? 0), 0);

  beforeAll(async () => {
    const traces = fc.sample(fc.noBias(fc.array(randomRun, { minLength: 12, maxLength: 12 })), {
      numRuns: TRACES,
      seed: 20_261_129,
    });
    const batches: { post: RunOperation[]; patch: RunOperation[] }[] = [];
    for (const runs of traces) {
      const { post, patch } = operationsOf(
        runs.map((run, at) => ({ ...run, at, project: at === 0 ? 'main' : run.project })),
      );
      // usage that an update corrects, and repeated usage
      const late = post
        .slice(1, 4)
        .map(({ run }) => ({ run, fields: { outputs: json({ usage: { total_tokens: 90 } }) } }));
      for (const [kind, all] of [
        ['post', [...post, ...post.slice(0, 2)]],
        ['patch', [...patch, ...late, ...patch.slice(0, 2)]],
      ] as const)
        for (const operation of all) batches.push({ post: [], patch: [], [kind]: [operation] });
    }
    const random = shuffled(batches, 1);
    const parts: (typeof random)[] = [];
    for (let at = 0; at < random.length; at += 1 + (at % 23))
      parts.push(random.slice(at, at + 1 + (at % 23)));
    // several at once: they meet in the same traces
    const senders = [0, 1, 2, 3].map(async (sender) => {
      for (const part of parts.filter((_part, at) => at % 4 === sender)) {
        const [post, patch] = [part.flatMap((one) => one.post), part.flatMap((one) => one.patch)];
        expect((await stored.store.ingest(TENANT, { post, patch })).refused).toEqual([]);
      }
    });
    await Promise.all(senders);
    projectId = (await stored.store.projects.find(TENANT, { name: 'main' }))?.id ?? '';
    const before = await rowsOf({ projectIds: [projectId], isRoot: true }, false);
    const erased = before.slice(0, 4).map(({ traceId }) => traceId);
    await stored.store.erasures.erase(TENANT, projectId, { traceIds: erased, threadIds: [] });
    rows = await rowsOf({ projectIds: [projectId] }, false);
    roots = rows.filter(({ isRoot }) => isRoot).map((row) => withSums(row, rows));
  });

  it('has the same totals in lists and by itself', async () => {
    expect(roots).toHaveLength(TRACES - 4);
    expect(await rowsOf({ projectIds: [projectId], isRoot: true }, true)).toEqual(roots);
    for (const root of roots)
      expect((await stored.store.runs.get(TENANT, root.id, { totals: true }))?.row).toEqual(root);
  });

  it('has the same totals in filters', async () => {
    const dear = roots.filter(({ totalCost }) => Number(totalCost ?? 0) > 2);
    expect(dear.length).toBeGreaterThan(2);
    expect(dear.length).toBeLessThan(roots.length);
    expect(await found('and(eq(is_root, true), gt(total_cost, 2))')).toEqual(idsOf(dear));
    const unpriced = roots.filter(({ totalCost }) => totalCost === undefined);
    expect(await found('and(eq(is_root, true), eq(total_cost, null))')).toEqual(idsOf(unpriced));
    for (const { totalTokens = null, id } of roots)
      expect(await found(`and(eq(is_root, true), eq(total_tokens, ${totalTokens}))`)).toContain(id);
    const large = new Set(
      roots.filter(({ totalTokens = 0 }) => totalTokens > 2_000).map(({ traceId }) => traceId),
    );
    const traceFilter = parseFilter('gt(total_tokens, 2000)');
    const ofLarge = await rowsOf({ projectIds: [projectId], filters: { traceFilter } }, false);
    expect(idsOf(ofLarge)).toEqual(idsOf(rows.filter(({ traceId }) => large.has(traceId))));
  });

  it('has the same totals in statistics', async () => {
    const filters = { filter: parseFilter('eq(is_root, true)') };
    const [kept, searched] = [
      await stored.store.statistics.ofRuns(TENANT, { projectIds: [projectId], isRoot: true }),
      await stored.store.statistics.ofRuns(TENANT, { projectIds: [projectId], filters }),
    ];
    for (const { counts, tokens, costs } of [kept, searched]) {
      expect(counts.runs).toBe(roots.length);
      for (const name of AMOUNTS) expect(tokens[name]).toBe(sumOf(roots.map((root) => root[name])));
      for (const name of COSTS)
        expect(Number(costs?.[name])).toBeCloseTo(sumOf(roots.map((root) => Number(root[name] ?? 0))), 9);
    }
  });

  it('has the same totals in exports', async () => {
    const { columns, fields, stream } = await stored.store.exportSource.read({
      tenantId: TENANT,
      projectId,
      startTime: day('2026-03-01'),
      endTime: day('2026-03-09'),
      fields: ['total_tokens', 'total_cost'],
      filter: parseFilter('eq(is_root, true)'),
    });
    const reader = new CopyBinaryReader(fields);
    const value = <T>(name: string, read: (source: Buffer, at: number) => T): T | undefined => {
      const at = columns.findIndex((column) => column.name === name);
      return (reader.lengths[at] ?? -1) < 0 ? undefined : read(reader.bytes, reader.offsets[at] ?? 0);
    };
    const exported: unknown[] = [];
    for await (const chunk of stream) {
      reader.push(chunk as Buffer);
      while (reader.next())
        exported.push({
          id: value('id', readUuid),
          totalTokens: value('total_tokens', readInt64),
          totalCost: value('total_cost', readDecimal),
        });
    }
    expect(exported).toEqual(
      roots.map(({ id, totalTokens, totalCost }) => ({
        id,
        totalTokens: totalTokens === undefined ? undefined : BigInt(totalTokens),
        totalCost,
      })),
    );
  });
});

describe('a call of a model inside of another one', () => {
  const stored = testTraceStore();

  /** Runs of one trace from the root down, each the parent of the next one; all calls state the same usage. */
  function chainOf(
    types: readonly string[],
    isOrdered: boolean,
  ): { post: RunOperation; patch: RunOperation }[] {
    const ids = types.map(() => randomUUID());
    let order = '';
    return types.map((type, at) => {
      const time = `2026-03-01T10:00:00.00000${at}Z`;
      order += `${at === 0 ? '' : '.'}${time.replace(/[-:.]/g, '')}${ids[at]}`;
      const tree = {
        id: ids[at],
        trace_id: ids[0],
        session_name: 'nested',
        name: type,
        run_type: type,
        start_time: time,
        ...(at === 0 ? {} : { parent_run_id: ids[at - 1] }),
        ...(isOrdered ? { dotted_order: order } : {}),
      };
      const usage = { input_tokens: 100, output_tokens: 10, total_tokens: 110 };
      const ended = { ...tree, end_time: time };
      const outputs = type === 'llm' ? { outputs: json({ usage_metadata: usage }) } : {};
      return { post: { run: json(tree), fields: {} }, patch: { run: json(ended), fields: outputs } };
    });
  }

  const TREES = [
    ['chain', 'llm', 'llm'],
    ['chain', 'llm', 'chain', 'llm'],
    ['llm', 'llm', 'llm'],
  ];
  it.each(
    TREES.flatMap((types) =>
      [true, false].map((isOrdered) => [types.join(' > '), isOrdered, types] as const),
    ),
  )('alone has the usage that both state: %s, with an order %p', async (_name, isOrdered, types) => {
    const tenant = randomUUID();
    const traces = 12;
    for (let trace = 0; trace < traces; trace++) {
      const runs = chainOf(types, isOrdered);
      const operations = runs.flatMap(({ post, patch }) => [
        { post: [post], patch: [] },
        { post: [], patch: [patch] },
      ]);
      // parents may come after their children, as spans do, and updates before their runs
      const random = shuffled(operations, trace);
      // a run between two calls has to come before the usage of both when orders show the runs above it
      const isBetween = isOrdered && types.length > 3;
      const inOrder = isBetween
        ? random.toSorted((one, other) => other.post.length - one.post.length)
        : random;
      for (const operation of inOrder) await stored.store.ingest(tenant, operation);
    }
    const projectId = (await stored.store.projects.find(tenant, { name: 'nested' }))?.id ?? '';
    const page = { order: 'ascending', limit: 100, fields: [], maxBytes: 1_000_000, totals: true } as const;
    const find = async (wanted: RunSearch): Promise<(number | undefined)[]> =>
      (await stored.store.runs.search(tenant, { projectIds: [projectId], ...wanted }, page)).runs.map(
        ({ row }) => row.totalTokens,
      );
    expect(await find({ isRoot: true })).toEqual(Array.from({ length: traces }, () => 110));
    const { rows } = await stored.client.query(
      'SELECT count(*)::int AS calls FROM runs WHERE tenant_id = $1 AND total_tokens IS NOT NULL',
      [tenant],
    );
    expect(rows).toEqual([{ calls: traces }]);
    for (const isRoot of [true, undefined]) {
      const { tokens } = await stored.store.statistics.ofRuns(tenant, { projectIds: [projectId], isRoot });
      expect(tokens.totalTokens).toBe(traces * 110);
    }
  });
});
