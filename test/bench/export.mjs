// Export of one day: Postgres → Parquet zstd in the embedded store by the export worker, beside the floor
// `psql COPY text | zstd -3 > /dev/null` over the same rows in the same order, interleaved, and once parquetjs-lite.
// node bin/node24.js test/bench/export.mjs [ROWS [ROUNDS]]     needs psql and zstd
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const repository = resolve(import.meta.dirname, '..', '..');
if (spawnSync(process.execPath, [join(repository, 'bin/build.js')], { stdio: 'inherit' }).status !== 0)
  process.exit(1);
const load = (name) => import(join(repository, 'dist/libs', name, 'src/index.js'));
const { startTemporaryPostgres } = await load('embedded-postgres');
const { EXPORT_COLUMNS, openTraceStore } = await load('trace-store');
const { startObjectStore } = await load('embedded-object-store');
const { createLogger } = await load('telemetry');
const { systemClock } = await load('time');

const ROWS = Number(process.argv[2] ?? 300_000);
const ROUNDS = Number(process.argv[3] ?? 3);
const DAY = '2026-11-20';
const TENANT = randomUUID();
const KEYS = { accessKeyId: 'bench', secretAccessKey: randomBytes(16).toString('hex') };
const log = createLogger('bench', 'error');

// ---- rows: agent runs of about 4.5 KB whose text compresses some four times, as conversations do

const WORDS = Array.from({ length: 1500 }, () =>
  randomBytes(2 + Math.floor(Math.random() * 5)).toString('base64url'),
);
/** Common words are far more common than rare ones. */
function words(bytes) {
  let text = '';
  while (text.length < bytes) text += `${WORDS[Math.floor(WORDS.length * Math.random() ** 5)]} `;
  return text.slice(0, bytes);
}
/** What comes again in conversations: names, calls of tools, turns of phrase. */
const PHRASES = Array.from({ length: 4000 }, () => words(20 + Math.random() * 60));
function passage(bytes) {
  let text = '';
  while (text.length < bytes)
    text += Math.random() < 0.5 ? PHRASES[Math.floor(PHRASES.length * Math.random() ** 3)] : words(30);
  return text.slice(0, bytes);
}
const size = (mean) => Math.min(8000, Math.max(40, Math.round(-Math.log(1 - Math.random()) * mean)));

function operation(n) {
  const id = randomUUID();
  const start = new Date(Date.parse(`${DAY}T00:00:00Z`) + Math.floor((n * 86_400_000) / ROWS));
  const run = {
    id,
    trace_id: id,
    name: `ChatModel ${n % 12}`,
    run_type: 'llm',
    session_name: 'bench',
    start_time: start.toISOString(),
    end_time: new Date(start.getTime() + 900 + (n % 4000)).toISOString(),
    tags: ['production', `team-${n % 7}`],
  };
  const usage = {
    input_tokens: 300 + (n % 900),
    output_tokens: 100 + (n % 300),
    total_tokens: 400 + (n % 1200),
  };
  const message = (role, mean) => ({ role, content: passage(size(mean)) });
  return {
    run: Buffer.from(JSON.stringify(run)),
    fields: {
      inputs: Buffer.from(JSON.stringify({ messages: [message('system', 830), message('user', 2050)] })),
      outputs: Buffer.from(JSON.stringify({ ...message('assistant', 1330), usage_metadata: usage })),
      extra: Buffer.from(
        JSON.stringify({ metadata: { thread_id: randomUUID(), model: 'm-1', temperature: 0.7 } }),
      ),
      events: Buffer.from(JSON.stringify([{ name: 'new_token', time: start.toISOString() }])),
    },
  };
}

// ---- the two sides

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** Runs a process and tells its wall time, its CPU time and its largest resident memory. */
function measure(command, args, options) {
  return new Promise((done, failed) => {
    const began = performance.now();
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'], ...options });
    const seen = { peakMb: 0, cpuS: 0 };
    const look = setInterval(() => {
      try {
        const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
        seen.peakMb = Math.max(seen.peakMb, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024);
        const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1].split(' ');
        seen.cpuS = (Number(fields[11]) + Number(fields[12])) / 100;
      } catch {
        // it has just ended
      }
    }, 50);
    child.once('exit', (code) => {
      clearInterval(look);
      if (code !== 0) failed(new Error(`${command} ended with ${code}`));
      else done({ seconds: (performance.now() - began) / 1000, ...seen });
    });
  });
}

const folder = mkdtempSync(join(tmpdir(), 'bench-export-'));
const postgres = await startTemporaryPostgres();
const uri = postgres.uri();
const traces = openTraceStore({ uri, poolSize: 3, log, clock: systemClock });
await traces.migrate();
const store = await startObjectStore({
  folder,
  host: '127.0.0.1',
  port: 0,
  log,
  buckets: ['exports'],
  ...KEYS,
});

let bytes = 0;
const began = performance.now();
for (let from = 0; from < ROWS; from += 1000) {
  const post = Array.from({ length: Math.min(1000, ROWS - from) }, (_, k) => operation(from + k));
  for (const { fields } of post) for (const value of Object.values(fields)) bytes += value.length;
  const { refused } = await traces.ingest(TENANT, { post, patch: [] });
  if (refused.length > 0) throw new Error(JSON.stringify(refused[0]));
}
const projectId = (await traces.projects.ensure(TENANT, 'bench')).id;
process.stdout.write(
  `${ROWS} runs, ${Math.round(bytes / ROWS)} bytes of payload each, made and ingested in ${((performance.now() - began) / 1000).toFixed(0)} s\n`,
);

async function worker() {
  const runUid = randomUUID();
  const spec = {
    exportName: 'bench',
    exportId: randomUUID(),
    tenantId: TENANT,
    projectId,
    startTime: `${DAY}T00:00:00Z`,
    endTime: '2026-11-21T00:00:00Z',
    destination: {
      config: { bucketName: 'exports', endpointUrl: store.endpoint, includeBucketInPrefix: true },
    },
    format: 'parquet',
    formatVersion: 'v2_beta',
    compression: 'zstd',
  };
  const storeCpu = process.cpuUsage();
  const result = await measure(process.execPath, [join(repository, 'dist/apps/export-worker/src/main.js')], {
    env: {
      PATH: process.env.PATH,
      AGENTPLANE_LOG_LEVEL: 'error',
      AGENTPLANE_DATABASE_URI: uri,
      AGENTPLANE_EXPORT_RUN_UID: runUid,
      AGENTPLANE_EXPORT_ATTEMPT: '1',
      AGENTPLANE_EXPORT_SPEC: JSON.stringify(spec),
      AGENTPLANE_STORE_ACCESS_KEY_ID: KEYS.accessKeyId,
      AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS: 'true',
      AGENTPLANE_STORE_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
    },
  });
  const { user, system } = process.cpuUsage(storeCpu);
  const record = await traces.exportProgress.find(runUid);
  if (record?.rows !== ROWS) throw new Error(`${record?.rows} rows were exported`);
  rmSync(join(folder, 'exports'), { recursive: true });
  await traces.exportProgress.forget([runUid]);
  spawnSync('mkdir', [join(folder, 'exports')]);
  return { ...result, storeCpuS: (user + system) / 1e6, files: record.files, outMb: record.bytes / 1e6 };
}

const SELECT = `SELECT ${EXPORT_COLUMNS.map(({ name, sql }) => `${sql} AS ${name}`).join(', ')}
  FROM runs r JOIN run_payloads p USING (tenant_id, project_id, start_time, id, trace_id)
  WHERE r.tenant_id = '${TENANT}' AND r.project_id = '${projectId}' AND p.tenant_id = '${TENANT}' AND p.project_id = '${projectId}'
  ORDER BY r.start_time, r.id`.replaceAll('\n', ' ');
const COPY = `COPY (${SELECT}) TO STDOUT`;
const PLAN = ['enable_hashjoin', 'enable_nestloop', 'enable_seqscan', 'enable_bitmapscan', 'jit'];

/** The columns' SQL takes its values from settings, as that of the worker does. */
const SETTINGS = {
  tenant: TENANT,
  project: projectId,
  start: `${DAY}T00:00:00Z`,
  end: '2026-11-21T00:00:00Z',
};
const PGOPTIONS = [
  ...PLAN.map((name) => `-c ${name}=off`),
  ...Object.entries(SETTINGS).map(([name, value]) => `-c agentplane.export_${name}=${value}`),
  '-c enable_partitionwise_join=on -c max_parallel_workers_per_gather=0',
].join(' ');

function floor() {
  const environment = {
    ...process.env,
    PGOPTIONS,
    URI: uri,
    COPY,
  };
  return measure('bash', ['-o', 'pipefail', '-c', 'psql -q "$URI" -c "$COPY" | zstd -q -3 -T1 > /dev/null'], {
    env: environment,
  });
}

/** Many times slower: a part of the rows is enough to see it, and it uploads nothing. */
const ORACLE_ROWS = Math.min(ROWS, 10_000);

function parquetjsLite() {
  return measure(process.execPath, [join(import.meta.dirname, 'parquetjs-export.mjs')], {
    env: {
      PATH: process.env.PATH,
      PGOPTIONS,
      URI: uri,
      SELECT: `${SELECT} LIMIT ${ORACLE_ROWS}`,
      FILE: join(folder, 'parquetjs.parquet'),
    },
  });
}

try {
  const ours = [];
  const theirs = [];
  for (let round = 0; round < ROUNDS; round++) {
    theirs.push(await floor());
    ours.push(await worker());
  }
  const oracle = await parquetjsLite();
  const oracleMb = statSync(join(folder, 'parquetjs.parquet')).size / 1e6;
  const seconds = median(ours.map((run) => run.seconds));
  const floorSeconds = median(theirs.map((run) => run.seconds));
  const rate = (value) =>
    `${Math.round(ROWS / value)} rows/s, ${Math.round(bytes / 1e6 / value)} MB/s of payload`;
  const [last] = ours.slice(-1);
  process.stdout.write(
    [
      `worker         ${seconds.toFixed(2)} s   ${rate(seconds)}   CPU ${median(ours.map((run) => run.cpuS)).toFixed(1)} s (store ${median(ours.map((run) => run.storeCpuS)).toFixed(1)} s)   peak ${Math.round(Math.max(...ours.map((run) => run.peakMb)))} MB   ${last.files} files, ${Math.round(last.outMb)} MB`,
      `psql | zstd -3 ${floorSeconds.toFixed(2)} s   ${rate(floorSeconds)}   to /dev/null, nothing uploaded`,
      `parquetjs-lite ${oracle.seconds.toFixed(2)} s   ${Math.round(ORACLE_ROWS / oracle.seconds)} rows/s of ${ORACLE_ROWS}   CPU ${oracle.cpuS.toFixed(1)} s   peak ${Math.round(oracle.peakMb)} MB   gzip, ${Math.round(oracleMb)} MB in a file, nothing uploaded`,
      `ratio          ${(seconds / floorSeconds).toFixed(2)}   (rounds: ${ours.map((run, n) => (run.seconds / theirs[n].seconds).toFixed(2)).join(', ')})`,
      '',
    ].join('\n'),
  );
} finally {
  await traces.close();
  await postgres.stop();
  await store.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
