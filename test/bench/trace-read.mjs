// Reading traces: first pages of a project, and statistics of its day, in milliseconds (best of five), over runs that were
// ingested as clients send them. HTTP is not in it. npm run bench -- trace-read [RUNS]
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';

const RUNS = Number(process.argv[2] ?? 20_000);
const TIMES = 5;
const BATCH = 1_000;
const RUNS_OF_TRACE = 5;
const dist = join(import.meta.dirname, '..', '..', 'dist');
const load = (name) => import(join(dist, 'libs', name, 'src/index.js'));
const { startTemporaryPostgres } = await load('embedded-postgres');
const { openTraceStore } = await load('trace-store');
const { parseFilter } = await load('filter-language');
const { createLogger } = await load('telemetry');
const { systemClock, parseInstant } = await load('time');

// the server's end keeps no event loop alive
const alive = setInterval(() => undefined, 1000);
const DAY = Date.parse('2026-10-01T00:00:00Z');
const STEP_MS = 86_400_000 / RUNS;
const iso = (ms) => new Date(ms).toISOString();
const instant = (ms) => parseInstant(iso(ms), { zone: 'required' });
const postgres = await startTemporaryPostgres();
const store = openTraceStore({
  ...{ uri: postgres.uri(), poolSize: 4, log: createLogger('bench', 'error'), clock: systemClock },
});
await store.migrate();
const tenant = randomUUID();

let trace;
function runOf(n) {
  const isRoot = n % RUNS_OF_TRACE === 0;
  const id = randomUUID();
  if (isRoot) trace = id;
  const startMs = DAY + n * STEP_MS;
  const usage = { input_tokens: 100 + (n % 900), output_tokens: n % 300, total_tokens: 100 + (n % 1200) };
  return {
    ...{
      id,
      trace_id: trace,
      session_name: 'bench',
      name: `step ${n % 12}`,
      run_type: isRoot ? 'chain' : 'llm',
    },
    ...(isRoot ? {} : { parent_run_id: trace }),
    ...{ start_time: iso(startMs), end_time: iso(startMs + 200 + ((n * 7919) % 9000)) },
    error: n % 50 === 0 ? 'it failed' : undefined,
    inputs: { n },
    outputs: isRoot ? { n } : { usage_metadata: { ...usage, total_cost: 0.001 } },
    extra: { metadata: { thread_id: `thread ${Math.floor(n / 50)}` } },
  };
}

for (let from = 0; from < RUNS; from += BATCH) {
  const runs = Array.from({ length: Math.min(BATCH, RUNS - from) }, (_run, n) => runOf(from + n));
  await store.ingest(tenant, {
    post: runs.map((run) => ({ run: Buffer.from(JSON.stringify(run)) })),
    patch: [],
  });
}
await store.tidy();
const [project] = await store.projects.list(tenant, {});
const projectIds = [project.id];
const day = { from: instant(DAY), to: instant(DAY + 86_400_000 - 1) + 999n };
const page = {
  order: 'descending',
  limit: 100,
  fields: ['inputs', 'outputs'],
  maxBytes: 2 ** 24,
  totals: true,
};
const search = (more, options = {}) =>
  store.runs.search(tenant, { projectIds, ...more }, { ...page, ...options });
const stats = (more) => store.statistics.ofRuns(tenant, { projectIds, ...more });

const READS = {
  'first page': () => search({}),
  'first page of roots, with totals': () => search({ isRoot: true }),
  'first page of failures': () => search({ hasError: true }),
  'statistics of the day, roots': () => stats({ ...day, isRoot: true }),
  'statistics of the day, all runs': () => stats(day),
  'statistics of a time within hours': () =>
    stats({ from: day.from + 600_000_000n, to: day.to - 600_000_000n }),
  'statistics of a filter': () => stats({ ...day, filters: { filter: parseFilter('gt(latency, "5s")') } }),
  'first page of threads': () =>
    store.threads.list(tenant, { projectId: project.id, ...day }, { limit: 100 }),
};
process.stdout.write(`${RUNS} runs of a day\n\nread | ms\n---|---\n`);
for (const [name, read] of Object.entries(READS)) {
  let best = Infinity;
  let problem;
  for (let n = 0; n < TIMES && !problem; n++) {
    const began = performance.now();
    await read().catch((error) => (problem = error.message));
    best = Math.min(best, performance.now() - began);
  }
  process.stdout.write(`${name} | ${problem ?? best.toFixed(1)}\n`);
}
await store.close();
await postgres.stop();
clearInterval(alive);
