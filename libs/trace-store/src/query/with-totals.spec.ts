import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { testTraceStore } from '../../testdata/test-trace-store.js';
import type { RunCursor, RunOperation } from '../index.js';
import type { RunRow } from '../run/stored-run.js';

const TENANT = randomUUID();
const TRACES = 20;
const RUNS_OF_TRACE = 30;
const COST_DIGITS = 10;

/** A run of a random trace; the first one is its root. */
const randomRun = fc.record({
  /** Of the runs before it, as a part of them. */
  parent: fc.nat(999_999),
  type: fc.constantFrom('llm', 'embedding', 'chain', 'tool'),
  /** Never sent; runs below it name it. */
  isMissing: fc.boolean(),
  project: fc.constantFrom('main', 'main', 'other'),
  /** Whether its outputs come with an update. */
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
      ...{ id, trace_id: ids[0], dotted_order: orders[at], session_name: one.project },
      ...(at === 0 ? {} : { parent_run_id: ids[parent] }),
    };
    const { tokens, cost } = one;
    const usage = {
      ...(tokens === undefined ? {} : { input_tokens: tokens, output_tokens: 7, total_tokens: tokens + 7 }),
      ...(cost === undefined
        ? {}
        : { input_cost: cost / 1_000, output_cost: 0.5, total_cost: cost / 1_000 + 0.5 }),
    };
    const type = at === 0 ? 'chain' : one.type;
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

/** What plain code makes of all stored rows. A tool keeps a cost of its own; what a chain repeats is no usage of its own. */
function withSums(row: RunRow, all: readonly RunRow[]): RunRow {
  if (hasTokens(row) || row.totalCost !== undefined) return row;
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
