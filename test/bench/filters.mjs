// Filters of runs: reading one, and making SQL of it. No database.
import { parseFilter } from '#lib/filter-language';
import { filterSql } from '../../dist/libs/trace-store/src/filter/filter-sql.js';
import { ParameterValues } from '../../dist/libs/trace-store/src/filter/sql-values.js';

const ROUNDS = 2_000;

const conditions = [
  (n) => `and(eq(metadata_key, "key ${n}"), eq(metadata_value, "value ${n}"))`,
  (n) => `and(eq(feedback_key, 'score'), gt(feedback_score, ${n / 7}))`,
  (n) => `or(gt(latency, "${n}s"), like(name, "%agent ${n}%"))`,
  () => `not(in(run_type, ["llm", "tool"]))`,
];

/** A filter of as many calls as asked for. */
function filterOf(calls) {
  const parts = [];
  let made = 1;
  for (let n = 0; made < calls; n++) {
    const part = conditions[n % conditions.length](n);
    const size = part.split('(').length - 1;
    parts.push(made + size > calls ? 'eq(is_root, true)' : part);
    made += made + size > calls ? 1 : size;
  }
  return `and(${parts.join(', ')})`;
}

function quantile(sorted, share) {
  return sorted[Math.floor(sorted.length * share)];
}

for (const calls of [5, 50, 200]) {
  const text = filterOf(calls);
  const tookMs = [];
  let length = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    length = filterSql({ filter: parseFilter(text) }, new ParameterValues(3)).length;
    tookMs.push(performance.now() - began);
  }
  tookMs.sort((a, b) => a - b);
  process.stdout.write(
    `${String(calls).padStart(3)} conditions, ${text.length} characters → ${length} of SQL: p50 ${quantile(tookMs, 0.5).toFixed(3)} ms, p99 ${quantile(tookMs, 0.99).toFixed(3)} ms\n`,
  );
}
