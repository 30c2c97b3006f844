// Filters of runs: reading one, and making SQL of it. No database.
import { join } from 'node:path';
import { quantile } from '../../agent-server/numbers.mjs';

const ROUNDS = 2_000;

/** Those that read more than the run itself; a filter has ten at most. */
const lookups = [
  (n) => `and(eq(metadata_key, "key ${n}"), eq(metadata_value, "value ${n}"))`,
  (n) => `and(eq(feedback_key, 'score'), gt(feedback_score, ${n / 7}))`,
];
const others = [
  (n) => `or(gt(latency, "${n}s"), eq(name, "agent ${n}"))`,
  () => `not(in(run_type, ["llm", "tool"]))`,
  (n) =>
    `and(gte(start_time, "2026-10-01T00:00:${String(n % 60).padStart(2, '0')}Z"), has(tags, "team ${n}"))`,
];
const MOST_LOOKUPS = 4;

/** A filter of as many calls as asked for. */
function filterOf(calls) {
  const parts = [];
  let made = 1;
  for (let n = 0; made < calls; n++) {
    const kinds = n < MOST_LOOKUPS ? lookups : others;
    const part = kinds[n % kinds.length](n);
    const size = part.split('(').length - 1;
    parts.push(made + size > calls ? 'eq(is_root, true)' : part);
    made += made + size > calls ? 1 : size;
  }
  return `and(${parts.join(', ')})`;
}

/** @param {readonly string[]} checkouts the first is measured */
export async function measureFilters([checkout]) {
  const load = (path) => import(join(checkout, 'dist/libs', path));
  const { parseFilter } = await load('filter-language/src/index.js');
  const { filterSql } = await load('trace-store/src/filter/filter-sql.js');
  const { ParameterValues } = await load('trace-store/src/filter/sql-values.js');
  const rows = [];
  for (const calls of [5, 50, 200]) {
    const text = filterOf(calls);
    const tookMs = [];
    for (let round = 0; round < ROUNDS; round++) {
      const began = performance.now();
      filterSql({ filter: parseFilter(text) }, new ParameterValues(3));
      tookMs.push(performance.now() - began);
    }
    const [p50, p99] = [0.5, 0.99].map((part) => quantile(tookMs, part));
    process.stdout.write(
      `  ${calls} conditions, ${text.length} characters: p50 ${p50.toFixed(3)}, p99 ${p99.toFixed(3)} ms\n`,
    );
    if (calls === 200)
      rows.push({
        what: 'a filter of 200 conditions: parsed, made SQL',
        unit: 'ms',
        ours: p50,
        peers: {},
        least: { below: 1 },
        aim: { below: 0.2 },
      });
  }
  return rows;
}
