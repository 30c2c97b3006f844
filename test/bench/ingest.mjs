// Ingestion of runs by the trace store, CPU of its process and of Postgres for each, beside psql COPY of the same rows
// into the same tables. HTTP is not in it. node bin/node24.js test/bench/ingest.mjs [RUNS [DIST]]     needs psql
import { spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const RUNS = Number(process.argv[2] ?? 10_000);
const dist = resolve(process.argv[3] ?? join(import.meta.dirname, '..', '..', 'dist'));
const load = (name) => import(join(dist, 'libs', name, 'src/index.js'));
const { startTemporaryPostgres } = await load('embedded-postgres');
const { openTraceStore } = await load('trace-store');
const { createLogger } = await load('telemetry');
const { systemClock } = await load('time');
const { openPool } = await load('postgres');

// the server's end keeps no event loop alive
const alive = setInterval(() => undefined, 1000);
const log = createLogger('bench', 'error');
const folder = mkdtempSync(join(tmpdir(), 'bench-ingest-'));
const postgres = await startTemporaryPostgres();
const uri = postgres.uri();
const pool = openPool({ uri, applicationName: 'bench', maxConnections: 1, log });

/** CPU seconds of Postgres: all of its processes, those that ended included. */
const { rows } = await pool.query('SELECT pg_backend_pid() AS pid');
const statOf = (pid) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
const postmaster = statOf(rows[0].pid)[1];
function postgresCpuS() {
  let ticks = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const fields = statOf(pid);
      if (pid === postmaster) ticks += fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
      else if (fields[1] === postmaster) ticks += Number(fields[11]) + Number(fields[12]);
    } catch {
      // it has just ended
    }
  return ticks / 100;
}

const text = (bytes) => randomBytes(bytes).toString('base64url').replace(/[-_]/g, ' ').slice(0, bytes);
function runOf(n, day) {
  const id = randomUUID();
  const start = new Date(Date.parse(`${day}T00:00:00Z`) + n * 10);
  const order = `${start.toISOString().replace(/[-:.]/g, '').slice(0, 18)}000Z${id}`;
  const common = { id, trace_id: id, dotted_order: order, session_name: 'bench' };
  const extra = { metadata: { user_id: `u${n % 100}`, model: 'm-1', temperature: 0.7, thread_id: id } };
  const messages = [
    { role: 'system', content: text(900) },
    { role: 'user', content: text(2000) },
  ];
  const end = new Date(start.getTime() + 900).toISOString();
  const usage = { input_tokens: 300, output_tokens: 100, total_tokens: 400 };
  const json = (value) => Buffer.from(JSON.stringify(value));
  return {
    post: {
      run: json({
        ...common,
        name: `Chat ${n % 12}`,
        run_type: 'llm',
        start_time: start.toISOString(),
        tags: ['a'],
      }),
      fields: { inputs: json({ messages }), extra: json(extra) },
    },
    patch: {
      run: json({ ...common, end_time: end }),
      fields: {
        outputs: json({ role: 'assistant', content: text(1300), usage_metadata: usage }),
        extra: json(extra),
      },
    },
  };
}

const tenant = randomUUID();
const store = openTraceStore({ uri, poolSize: 8, log, clock: systemClock });
await store.migrate();

const batches = (runs, size) =>
  Array.from({ length: Math.ceil(runs.length / size) }, (_one, n) => runs.slice(n * size, (n + 1) * size));
const SHAPES = {
  'whole runs, 100 a request': (runs) =>
    batches(runs, 100).map((some) => [
      { post: some.map(({ post }) => post), patch: some.map(({ patch }) => patch) },
    ]),
  'create, then update, 100 a request': (runs) =>
    batches(runs, 100).map((some) => [
      { post: some.map(({ post }) => post), patch: [] },
      { post: [], patch: some.map(({ patch }) => patch) },
    ]),
  'whole runs, 1 a request, 16 senders': (runs) =>
    runs.slice(0, RUNS / 5).map(({ post, patch }) => [{ post: [post], patch: [patch] }]),
};

async function measure(requests, senders) {
  await pool.query('CHECKPOINT');
  const [cpu, own, began] = [postgresCpuS(), process.cpuUsage(), performance.now()];
  const next = requests[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: senders }, async () => {
      for (const request of next) for (const batch of request) await store.ingest(tenant, batch);
    }),
  );
  const { user, system } = process.cpuUsage(own);
  return {
    own: (user + system) / 1e6,
    postgres: postgresCpuS() - cpu,
    seconds: (performance.now() - began) / 1000,
  };
}

/** The same rows, sent by psql. */
async function floor(tables) {
  const psql = (command) => {
    const done = spawnSync('psql', ['-q', '-d', uri, '-c', command], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    if (done.status !== 0) throw new Error(`psql failed: ${command}`);
  };
  for (const table of tables) {
    const { rows: found } = await pool.query(
      `SELECT string_agg(column_name, ', ') AS names FROM information_schema.columns WHERE table_name = $1 AND is_generated = 'NEVER'`,
      [table],
    );
    const names = found[0].names;
    psql(`\\copy (SELECT ${names} FROM ${table}) TO '${join(folder, table)}' (FORMAT binary)`);
    await pool.query(`TRUNCATE ${table}`);
    Object.assign(columns, { [table]: names });
  }
  await pool.query('CHECKPOINT');
  const cpu = postgresCpuS();
  for (const table of tables)
    psql(`\\copy ${table} (${columns[table]}) FROM '${join(folder, table)}' (FORMAT binary)`);
  return postgresCpuS() - cpu;
}
const columns = {};

try {
  const { rows: found } = await pool.query(`SELECT to_regclass('run_pairs') IS NOT NULL AS has`);
  const tables = ['run_keys', 'runs', 'run_payloads', ...(found[0].has ? ['run_pairs'] : [])];
  process.stdout.write(
    'CPU ms a run | store | Postgres | together | COPY | of the floor | wall\n---|---|---|---|---|---|---\n',
  );
  let day = 1;
  await measure(
    SHAPES['whole runs, 100 a request'](Array.from({ length: 1000 }, (_o, n) => runOf(n, '2026-10-01'))),
    2,
  );
  for (const [title, requestsOf] of Object.entries(SHAPES)) {
    await pool.query(`TRUNCATE ${tables.join(', ')}`);
    const runs = Array.from({ length: RUNS }, (_one, n) =>
      runOf(n, `2026-11-${String(15 + day).padStart(2, '0')}`),
    );
    day++;
    const requests = requestsOf(runs);
    const senders = title.includes('senders') ? 16 : 2;
    const took = await measure(requests, senders);
    const { rows: counted } = await pool.query('SELECT count(*)::int AS n FROM runs');
    const copy = await floor(tables);
    const each = (seconds) => ((seconds * 1000) / counted[0].n).toFixed(3);
    const share = Math.round((copy / (took.own + took.postgres)) * 100);
    process.stdout.write(
      `${title} | ${each(took.own)} | ${each(took.postgres)} | ${each(took.own + took.postgres)} | ${each(copy)} | ${share} % | ${took.seconds.toFixed(1)} s\n`,
    );
  }
} finally {
  await store.close();
  await pool.end();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
clearInterval(alive);
process.exit(0);
