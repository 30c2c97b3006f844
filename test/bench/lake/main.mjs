// A sealed day beside the same day unsealed: what sealing costs, what is stored, exports, and reads of sealed runs.
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { median } from '../export/measure.mjs';
import { benchRow } from '../export/rows.mjs';
import { Stand } from '../export/stand.mjs';
import { readArguments } from '../read-arguments.mjs';

const { ROWS, ROUNDS } = readArguments(
  `npm run bench -- lake [ROWS [ROUNDS]]

A day of ROWS (100,000) runs of the benchmark of exports, before and after it is sealed; medians of ROUNDS (3) exports. The
last lines are a table with marks. Needs psql.`,
  { counts: { ROWS: 100_000, ROUNDS: 3 } },
).counts;
const repository = resolve(import.meta.dirname, '..', '..', '..');
if (spawnSync(process.execPath, [join(repository, 'bin/build.js')], { stdio: 'inherit' }).status !== 0)
  process.exit(1);

const READS = 40;
const lines = [];
const n = (value, digits = 1) => value.toFixed(digits);
const p95 = (values) => values.toSorted((a, b) => a - b)[Math.ceil(0.95 * values.length) - 1];
const say = (text) => process.stdout.write(`# ${text}\n`);

/** A row of the table, printed at once as well: a run that ends early has shown what it had. */
function row(what, measured, least, aim, isMet) {
  const line = `| ${what} | ${measured} | ${least} | ${aim} |${isMet === undefined ? '' : isMet ? ' met |' : ' MISSED |'}`;
  lines.push(line);
  process.stdout.write(`${line}\n`);
}

async function timed(work) {
  const began = performance.now();
  const result = await work();
  return { ms: performance.now() - began, result };
}

async function withPostgresCpu(stand, work) {
  const before = stand.postgresCpuS;
  const result = await work();
  return { ...result, postgresCpuS: stand.postgresCpuS - before };
}

/** Exports of the day, and what `beside` measures, in turns. */
async function exportsOf(stand, table, beside = () => undefined) {
  const runs = [];
  for (let round = 0; round < ROUNDS; round++) {
    await beside();
    runs.push(await withPostgresCpu(stand, () => stand.worker(table)));
    await stand.clear();
  }
  const of = (name) => median(runs.map((run) => run[name]));
  return {
    seconds: of('seconds'),
    cpuS: of('cpuS') + of('postgresCpuS'),
    outMb: of('outMb'),
    peakMb: Math.max(...runs.map(({ peakMb }) => peakMb)),
  };
}

/** Bytes of all tables with their indexes. */
function postgresBytes(stand) {
  return Number(
    stand.sql(
      `SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace`,
    ),
  );
}

function bucketBytes(stand) {
  const folder = join(stand.folder, 'lake');
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.parquet'));
  return names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

async function measureSealing(stand, table) {
  const sealing = await withPostgresCpu(stand, () => stand.seal());
  const left = Number(stand.sql('SELECT count(*) FROM run_payloads'));
  if (left > 0) throw new Error(`${left} runs are not sealed`);
  const gb = table.bytes / 1e9;
  const cpu = (sealing.cpuS + sealing.postgresCpuS) / gb;
  row(
    'sealing: CPU for a GB of payload, worker and Postgres',
    `${n(cpu)} s (worker ${n(sealing.cpuS / gb)}; wall ${n(sealing.seconds / gb)} s; ${n(sealing.peakMb, 0)} MB)`,
    ...['8 s', '5 s', cpu <= 8],
  );
}

async function measureStorage(stand, unsealedBytes) {
  // the first makes pages free, the next ones give them back
  for (let time = 0; time < 3; time++) await stand.traces.lake.tidy();
  stand.sql('VACUUM runs');
  const [postgres, bucket] = [postgresBytes(stand), bucketBytes(stand)];
  const share = (postgres + bucket) / unsealedBytes;
  row(
    'storage of the sealed project against unsealed, indexes included',
    `${n(100 * share, 0)} % (${n(unsealedBytes / 1e6, 0)} MB to ${n(postgres / 1e6, 0)} in Postgres and ${n(bucket / 1e6, 0)} in the store)`,
    ...['45 %', '30 %', share <= 0.45],
  );
}

async function measureRuns(stand, ids) {
  const [cold, warm] = [[], []];
  for (const id of ids) {
    const traces = stand.openTraces();
    // connections are not what is measured
    await Promise.all([1, 2, 3].map(() => traces.projects.ensure(stand.tenant, 'bench')));
    const get = async () => {
      const { ms, result } = await timed(() => traces.runs.get(stand.tenant, id));
      if (!result?.payloads.inputs) throw new Error(`run ${id} has no inputs`);
      return ms;
    };
    cold.push(await get());
    warm.push(await get());
    await traces.close();
  }
  row('a sealed run by its id, p95, cold', `${n(p95(cold))} ms`, '100 ms', '40 ms', p95(cold) <= 100);
  row('the same, pages cached', `${n(p95(warm))} ms`, '10 ms', '4 ms', p95(warm) <= 10);
}

async function measureFilter(stand, table, ids) {
  const { parseFilter } = await import(join(repository, 'dist/libs/filter-language/src/index.js'));
  const page = { order: 'descending', limit: 20, fields: ['inputs'], maxBytes: 8 << 20 };
  const first = await stand.traces.runs.get(stand.tenant, ids[0]);
  const word = JSON.parse(first.payloads.inputs.toString()).messages[0].content.split(' ')[0];
  const times = [];
  for (let time = 0; time < READS / 2; time++) {
    const traces = stand.openTraces();
    await traces.projects.ensure(stand.tenant, 'bench');
    const filters = { filter: parseFilter(`search(inputs, ${JSON.stringify(word)})`) };
    const search = { projectIds: [table.project], filters };
    const { ms, result } = await timed(() => traces.runs.search(stand.tenant, search, page));
    if (result.runs.length === 0) throw new Error('the filter found no run');
    times.push(ms);
    await traces.close();
  }
  row(
    'first page of a filter on inputs of the sealed day, p95, cold',
    `${n(p95(times), 0)} ms`,
    '1,000 ms',
    '200 ms',
    p95(times) <= 1_000,
  );
}

const stand = await Stand.open(repository);
try {
  say(`load ${loadavg()[0].toFixed(1)}`);
  const table = await stand.ingest('bench', ROWS, (at) => benchRow('bench', at, ROWS));
  say(`${ROWS} bench rows, ${n(table.bytes / ROWS, 0)} bytes each, ingested in ${n(table.seconds, 0)} s`);
  const unsealedBytes = postgresBytes(stand);
  const file = join(stand.folder, 'duckdb.parquet');
  const duckdb = [];
  const unsealed = await exportsOf(stand, table, async () => duckdb.push(await stand.duckdb(table, file)));
  rmSync(file);
  const theirs = median(duckdb.map(({ seconds }) => seconds));
  await measureSealing(stand, table);
  await measureStorage(stand, unsealedBytes);
  const sealed = await exportsOf(stand, table);
  row(
    'export of the sealed day, against psql CSV into DuckDB before it was sealed, which uploads nothing',
    `${n(theirs / sealed.seconds, 2)} × (${n(sealed.seconds, 2)} s to ${n(theirs)} s)`,
    ...['4 ×', '5 ×', theirs / sealed.seconds >= 4],
  );
  row(
    'the same against its export before it was sealed: wall; CPU with Postgres',
    `${n(unsealed.seconds / sealed.seconds, 2)} × (${n(unsealed.seconds, 2)} s); ${n(unsealed.cpuS / sealed.cpuS, 2)} × (${n(sealed.cpuS)} s to ${n(unsealed.cpuS)} s)`,
    ...['', ''],
  );
  row(
    'its file; largest memory',
    `${n(sealed.outMb / unsealed.outMb, 2)} ×; ${n(sealed.peakMb, 0)} MB`,
    '',
    '',
  );
  const ids = stand.sql(`SELECT id FROM runs ORDER BY md5(id::text) LIMIT ${READS}`).split('\n');
  await measureRuns(stand, ids);
  await measureFilter(stand, table, ids);
} finally {
  await stand.close();
}
process.stdout.write(`\n| | measured | at least | aim | |\n|---|---|---|---|---|\n${lines.join('\n')}\n`);
process.exit(0);
