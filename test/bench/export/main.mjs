// Exports beside what else could do them: Postgres → Parquet zstd in the embedded store by the export worker, beside psql
// CSV piped into DuckDB, `psql | zstd -3` and ClickHouse (chdb) over the same rows, interleaved; without a store, without
// payloads, four partitions at once, huge rows, and exports of few rows on a whole platform. One command, one table.
import { spawnSync } from 'node:child_process';
import { rmSync, statSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { readArguments } from '../read-arguments.mjs';
import { median } from './measure.mjs';
import { benchRow, conversationRows } from './rows.mjs';
import { measureSmallExports } from './small-exports.mjs';
import { Stand, startStore } from './stand.mjs';

const {
  counts: { ROWS, ROUNDS },
  values: { part },
} = readArguments(
  `npm run bench -- export [ROWS [ROUNDS]] [--part rows|small]

Exports of ROWS (300,000) beside what else could do them, medians of ROUNDS (3); the last lines are a table with marks. Needs
psql and zstd; ClickHouse is measured where AGENTPLANE_READERS_PYTHON names a Python that has chdb. The part \`small\` takes five minutes:
exports of few rows, and 600 that wait beside 15 at work.`,
  { counts: { ROWS: 300_000, ROUNDS: 3 }, options: { part: { type: 'string' } } },
);
const repository = resolve(import.meta.dirname, '..', '..', '..');
if (spawnSync(process.execPath, [join(repository, 'bin/build.js')], { stdio: 'inherit' }).status !== 0)
  process.exit(1);

const PYTHON = process.env.AGENTPLANE_READERS_PYTHON;
/** Many times slower: a part of the rows is enough to see it. */
const PARQUETJS_ROWS = Math.min(ROWS, 5_000);
const QUARTERS = [
  [0, 6],
  [6, 12],
  [12, 18],
  [18, 24],
];
const lines = [];
const n = (value, digits = 1) => value.toFixed(digits);

/** A row of the table, printed at once as well: a run that ends early has shown what it had. */
function row(what, measured, least, aim, isMet) {
  const line = `| ${what} | ${measured} | ${least} | ${aim} |${isMet === undefined ? '' : isMet ? ' met |' : ' MISSED |'}`;
  lines.push(line);
  process.stdout.write(`${line}\n`);
}
const say = (text) => process.stdout.write(`# ${text}\n`);
const secondsOf = (runs) => median(runs.map((run) => run.seconds));
const cpuOfAll = (runs) => median(runs.map((run) => run.cpuS));
const peakOf = (runs) => Math.max(...runs.map((run) => run.peakMb));

async function withPostgresCpu(stand, work) {
  const before = stand.postgresCpuS;
  const result = await work();
  return { ...result, postgresCpuS: stand.postgresCpuS - before };
}

/** Rows of one kind: the worker beside DuckDB, in turns. */
async function besideDuckdb(stand, table, rounds) {
  const [ours, theirs] = [[], []];
  const file = join(stand.folder, 'duckdb.parquet');
  for (let round = 0; round < rounds; round++) {
    theirs.push(await withPostgresCpu(stand, () => stand.duckdb(table, file)));
    ours.push(await withPostgresCpu(stand, () => stand.worker(table)));
    await stand.clear();
  }
  const theirMb = statSync(file).size / 1e6;
  rmSync(file);
  return { ours, theirs, theirMb };
}

async function measureWholeRows(stand, table) {
  const { ours, theirs, theirMb } = await besideDuckdb(stand, table, ROUNDS);
  const [seconds, duckdb] = [secondsOf(ours), secondsOf(theirs)];
  row(
    'one partition to the embedded store, against psql CSV into DuckDB without an upload',
    `${n(duckdb / seconds, 2)} × (${n(seconds)} s to ${n(duckdb)} s)`,
    ...['1.5 ×', '2 ×', duckdb / seconds >= 1.5],
  );
  const cpu = median(ours.map((run) => run.postgresCpuS));
  row(
    `CPU for ${n(table.bytes / 1e9, 2)} GB: worker; Postgres`,
    `${n(cpuOfAll(ours))} s; ${n(cpu)} s (DuckDB’s way: ${n(cpuOfAll(theirs))}; ${n(median(theirs.map((run) => run.postgresCpuS)))})`,
    ...['9 s; 4.5 s', '6 s; 4 s', cpuOfAll(ours) <= 9 && cpu <= 4.5],
  );
  const share = ours[0].outMb / theirMb;
  row('file size against DuckDB’s, bench rows', `${n(share, 2)} ×`, '1.0 ×', '0.95 ×', share <= 1);
  row(`largest memory at ${ROWS} runs`, `${n(peakOf(ours), 0)} MB`, '250 MB', '200 MB', peakOf(ours) <= 250);
  return seconds;
}

async function measureWithoutStore(stand, table) {
  const store = await startStore();
  const [ours, floors] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    floors.push(await stand.floor(table));
    ours.push(await stand.worker(table, { endpoint: store.endpoint }));
  }
  await store.stop();
  const ratio = secondsOf(ours) / secondsOf(floors);
  row(
    'into a discarding store, against psql \\| zstd -3 > /dev/null',
    `${n(ratio, 2)} × its time (${n(secondsOf(ours))} s to ${n(secondsOf(floors))} s)`,
    ...['1.0 ×', '0.8 ×', ratio <= 1],
  );
}

async function measureClickhouse(stand, table, seconds, peakMb) {
  const file = join(stand.folder, 'clickhouse.parquet');
  const theirs = await stand.clickhouse(table, PYTHON, file);
  rmSync(file, { force: true });
  const ratio = theirs.seconds / seconds;
  row(
    'against ClickHouse (chdb) exporting the same rows from the same Postgres',
    `${n(ratio, 2)} × (it takes ${n(theirs.seconds)} s and ${n(theirs.peakMb, 0)} MB)`,
    ...['1.3 × at a quarter of its memory', '2 ×', ratio >= 1.3 && peakMb <= theirs.peakMb / 4],
  );
}

async function measureWithoutPayloads(stand, table, seconds) {
  const { EXPORT_COLUMNS } = await import(join(repository, 'dist/libs/trace-store/src/index.js'));
  const fields = EXPORT_COLUMNS.map(({ name }) => name).filter(
    (name) => !['inputs', 'outputs'].includes(name),
  );
  const runs = [];
  for (let round = 0; round < ROUNDS; round++) runs.push(await stand.worker(table, { fields }));
  await stand.clear();
  const ratio = seconds / secondsOf(runs);
  row(
    'without inputs and outputs, rows/s against the full export',
    `${n(ratio)} × (${n(secondsOf(runs))} s)`,
    ...['6 ×', '10 ×', ratio >= 6],
  );
}

async function measureFourAtOnce(stand, table) {
  const ratios = [];
  for (let round = 0; round < Math.max(1, ROUNDS - 1); round++) {
    let began = performance.now();
    for (const window of QUARTERS) await stand.worker(table, { window });
    const oneByOne = performance.now() - began;
    began = performance.now();
    await Promise.all(QUARTERS.map((window) => stand.worker(table, { window })));
    ratios.push(oneByOne / (performance.now() - began));
    await stand.clear();
  }
  const ratio = median(ratios);
  row('four partitions at once against one after another', `${n(ratio, 2)} ×`, '1.0 ×', '1.15 ×', ratio >= 1);
}

async function measureConversations(stand) {
  const table = await stand.ingest('conversations', ROWS, conversationRows('conversations', ROWS));
  say(`${ROWS} calls of conversations, ${n(table.bytes / ROWS, 0)} bytes each, in ${n(table.seconds, 0)} s`);
  const { ours, theirs, theirMb } = await besideDuckdb(stand, table, Math.max(1, ROUNDS - 1));
  const ratio = secondsOf(theirs) / secondsOf(ours);
  row(
    'realistic rows: wall against the same DuckDB pipe',
    `${n(ratio, 2)} × (${n(secondsOf(ours))} s to ${n(secondsOf(theirs))} s)`,
    ...['2 ×', '3 ×', ratio >= 2],
  );
  const share = ours[0].outMb / theirMb;
  row('file size against DuckDB’s, realistic rows', `${n(share, 2)} ×`, '0.6 ×', '0.3 ×', share <= 0.6);
  row('largest memory, realistic rows', `${n(peakOf(ours), 0)} MB`, '250 MB', '200 MB', peakOf(ours) <= 250);
}

async function measureHugeRows(stand) {
  const text = Buffer.from(JSON.stringify({ text: 'a conversation '.repeat((60 << 20) / 15) }));
  const table = await stand.ingest('huge', 4, (at) => {
    const one = benchRow('huge', at, 4);
    return { ...one, fields: { ...one.fields, inputs: text } };
  });
  const { peakMb } = await stand.worker(table);
  await stand.clear();
  row('largest memory with rows of 60 MB', `${n(peakMb, 0)} MB`, '350 MB', '300 MB', peakMb <= 350);
}

async function measurePlatform() {
  const { hourly, ninety, many, each, waiting } = await measureSmallExports(repository, ROUNDS);
  const worst = Math.max(...hourly);
  row(
    'one hourly window of 1,000 runs, due to COMPLETED',
    `${n(median(hourly))} s (${n(Math.min(...hourly))} to ${n(worst)})`,
    ...['3 s', '1.5 s', median(hourly) <= 3],
  );
  row('200 small exports at once', `${n(many, 0)} s`, '60 s', '30 s', many <= 60);
  row('CPU of all programs for one of these', `${n(each.cpuMs, 0)} ms`, '', '');
  row('controller passes for one', n(each.passes), '12', '6', each.passes <= 12);
  row(
    'writes of an export and its run, creations and ids included',
    n(each.writes),
    '8',
    '5',
    each.writes <= 8,
  );
  const { alone, beside } = waiting;
  const share = beside.perSecond / alone.perSecond;
  row(
    '15 exports of 10,000 runs at work beside 600 that wait, against 15 alone',
    `${n(100 * share, 0)} % (${n(beside.perSecond, 2)} to ${n(alone.perSecond, 2)} /s)`,
    ...['90 %', '99 %', share >= 0.9],
  );
  row('CPU of one of these, beside; alone', `${n(beside.cpuMs, 0)}; ${n(alone.cpuMs, 0)} ms`, '', '');
}

async function measureRows() {
  const stand = await Stand.open(repository);
  try {
    say(`load ${loadavg()[0].toFixed(1)}`);
    const table = await stand.ingest('bench', ROWS, (at) => benchRow('bench', at, ROWS));
    say(
      `${ROWS} bench rows, ${n(table.bytes / ROWS, 0)} bytes each, made and ingested in ${n(table.seconds, 0)} s`,
    );
    const seconds = await measureWholeRows(stand, table);
    await measureWithoutStore(stand, table);
    const once = await stand.worker(table);
    const late = await stand.countLate(table, once.runUid);
    await stand.clear();
    row(
      `counting the late runs of a day of ${ROWS} (${late.found.rows ?? late.found})`,
      `${n(late.seconds, 2)} s`,
      '5 s',
      '',
    );
    if (PYTHON) await measureClickhouse(stand, table, seconds, once.peakMb);
    else say('ClickHouse is left out: AGENTPLANE_READERS_PYTHON does not name a Python that has chdb');
    await measureWithoutPayloads(stand, table, seconds);
    await measureFourAtOnce(stand, table);
    const oracle = await stand.parquetjs(table, PARQUETJS_ROWS, join(stand.folder, 'parquetjs.parquet'));
    row(
      'rows/s against parquetjs-lite, which uploads nothing',
      `${n(ROWS / seconds / (PARQUETJS_ROWS / oracle.seconds))} ×`,
      ...['', ''],
    );
    await measureHugeRows(stand);
    await measureConversations(stand);
  } finally {
    await stand.close();
  }
}

if (part !== 'small') await measureRows();
if (part !== 'rows') await measurePlatform();
process.stdout.write(`\n| | measured | at least | aim | |\n|---|---|---|---|---|\n${lines.join('\n')}\n`);
process.exit(0);
