// What the benchmark of exports runs on: a Postgres, an embedded object store, and the two tables of runs.
import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuOf, measure } from './measure.mjs';
import { DAY } from './rows.mjs';

const KEYS = { accessKeyId: 'bench', secretAccessKey: randomBytes(16).toString('hex') };
const NEXT_DAY = '2026-11-21';
const TENANT = randomUUID();
/** As the worker's statements are planned. */
const PLAN = ['enable_hashjoin', 'enable_nestloop', 'enable_seqscan', 'enable_bitmapscan', 'jit'];
const DUCKDB = { timestamptz: 'TIMESTAMPTZ', int8: 'BIGINT', bool: 'VARCHAR', numeric: 'DECIMAL(18,10)' };

/**
 * In a process of its own, as on a machine: here each of its collections would go through the rows that are made.
 * @param args as `store-program.mjs` takes them
 */
export async function startStore(...args) {
  const program = fork(join(import.meta.dirname, 'store-program.mjs'), args, {
    env: {
      PATH: process.env.PATH,
      ACCESS_KEY_ID: KEYS.accessKeyId,
      SECRET_ACCESS_KEY: KEYS.secretAccessKey,
    },
  });
  const [endpoint] = await once(program, 'message');
  const stop = async () => {
    program.disconnect();
    await once(program, 'exit');
  };
  return { endpoint, stop };
}

export class Stand {
  #load;
  #repository;
  #postgres;
  #store;
  #columns;
  #totalsJoin;

  static async open(repository) {
    const stand = new Stand();
    stand.#repository = repository;
    stand.#load = (name) => import(join(repository, 'dist/libs', name, 'src/index.js'));
    const [{ startTemporaryPostgres }, { EXPORT_COLUMNS, openTraceStore }] = await Promise.all(
      ['embedded-postgres', 'trace-store'].map(stand.#load),
    );
    const [{ createLogger }, { systemClock }] = await Promise.all(['telemetry', 'time'].map(stand.#load));
    stand.folder = mkdtempSync(join(tmpdir(), 'bench-export-'));
    stand.#columns = EXPORT_COLUMNS;
    const { totalsJoin } = await import(join(repository, 'dist/libs/trace-store/src/run/trace-totals.js'));
    stand.#totalsJoin = totalsJoin('r');
    stand.#postgres = await startTemporaryPostgres();
    stand.uri = stand.#postgres.uri();
    const log = createLogger('bench', 'error');
    stand.#store = await startStore(repository, stand.folder);
    const { openObjectStore } = await stand.#load('object-store');
    const settings = { endpoint: stand.#store.endpoint, allowPrivateEndpoints: true, ...KEYS };
    stand.openTraces = () => {
      const lake = { store: openObjectStore(settings), bucket: 'lake', prefix: 'days', quietHours: 0 };
      return openTraceStore({ uri: stand.uri, poolSize: 3, log, clock: systemClock, lake });
    };
    stand.traces = stand.openTraces();
    await stand.traces.migrate();
    return stand;
  }

  get tenant() {
    return TENANT;
  }

  async close() {
    await this.traces.close();
    await this.#postgres.stop();
    await this.#store.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** @returns what was stored: rows, bytes of payload, the project */
  async ingest(project, rows, make) {
    let bytes = 0;
    const began = performance.now();
    for (let from = 0; from < rows; from += 1000) {
      const post = Array.from({ length: Math.min(1000, rows - from) }, (_, k) => make(from + k));
      for (const { fields } of post) for (const value of Object.values(fields)) bytes += value.length;
      const { refused } = await this.traces.ingest(TENANT, { post, patch: [] });
      if (refused.length > 0) throw new Error(JSON.stringify(refused[0]));
    }
    const { id } = await this.traces.projects.ensure(TENANT, project);
    this.sql('ANALYZE runs; ANALYZE run_payloads');
    const seconds = (performance.now() - began) / 1000;
    return { project: id, rows, bytes, seconds };
  }

  sql(text) {
    const run = spawnSync('psql', ['-qAt', '-v', 'ON_ERROR_STOP=1', this.uri, '-c', text], {
      encoding: 'utf8',
    });
    if (run.status !== 0) throw new Error(run.stderr);
    return run.stdout.trim();
  }

  /** CPU of Postgres so far, seconds. Its backends count once they have ended. */
  get postgresCpuS() {
    const folder = this.sql('SHOW data_directory');
    return cpuOf(Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0]));
  }

  /**
   * One attempt of a worker.
   * @param more `fields`, `window` as hours of the day, `endpoint` of another store
   */
  async worker({ project, rows }, { fields, window = [0, 24], endpoint = this.#store.endpoint } = {}) {
    const runUid = randomUUID();
    const at = (hour) =>
      hour === 24 ? `${NEXT_DAY}T00:00:00Z` : `${DAY}T${String(hour).padStart(2, '0')}:00:00Z`;
    const spec = {
      ...{ exportName: 'bench', exportId: randomUUID(), tenantId: TENANT, projectId: project },
      ...{ startTime: at(window[0]), endTime: at(window[1]) },
      destination: { config: { bucketName: 'exports', endpointUrl: endpoint, includeBucketInPrefix: true } },
      ...{ format: 'parquet', formatVersion: 'v2_beta', compression: 'zstd' },
      ...(fields ? { exportFields: fields } : {}),
    };
    const result = await this.#program({
      AGENTPLANE_EXPORT_RUN_UID: runUid,
      AGENTPLANE_EXPORT_ATTEMPT: '1',
      AGENTPLANE_EXPORT_SPEC: JSON.stringify(spec),
      AGENTPLANE_STORE_ACCESS_KEY_ID: KEYS.accessKeyId,
      AGENTPLANE_STORE_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
      AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS: 'true',
    });
    const record = await this.traces.exportProgress.find(runUid);
    const whole = window[0] === 0 && window[1] === 24;
    if (whole && record?.rows !== rows)
      throw new Error(`${record?.rows} rows were exported instead of ${rows}`);
    return { ...result, runUid, files: record.files, outMb: record.bytes / 1e6, rows: record.rows };
  }

  /** Seals all days that have ended, by a worker. */
  async seal() {
    // the second look finds that nothing has changed since the first
    for (let look = 0; look < 2; look++) await this.traces.lake.look();
    return this.#program({ AGENTPLANE_SEAL: 'true' });
  }

  #program(env) {
    return measure(process.execPath, [join(this.#repository, 'dist/apps/export-worker/src/main.js')], {
      env: {
        PATH: process.env.PATH,
        // as its Job has it
        MALLOC_MMAP_THRESHOLD_: '1048576',
        AGENTPLANE_LOG_LEVEL: 'error',
        AGENTPLANE_DATABASE_URI: this.uri,
        AGENTPLANE_LAKE: 'on',
        AGENTPLANE_LAKE_PREFIX: 'days',
        AGENTPLANE_ATTACHMENT_BUCKET: 'lake',
        AGENTPLANE_ATTACHMENT_ENDPOINT: this.#store.endpoint,
        AGENTPLANE_ATTACHMENT_ACCESS_KEY_ID: KEYS.accessKeyId,
        AGENTPLANE_ATTACHMENT_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
        ...env,
      },
    });
  }

  /** What was exported goes: the disk is not what is measured. */
  async clear() {
    rmSync(join(this.folder, 'exports'), { recursive: true, force: true });
    mkdirSync(join(this.folder, 'exports'));
  }

  /** Seconds to count the late runs of a run that a worker completed. */
  async countLate({ project }, runUid) {
    const { parseInstant } = await this.#load('time');
    const at = (text) => parseInstant(text, { zone: 'required' });
    const window = { tenantId: TENANT, projectId: project, runUid };
    const began = performance.now();
    const [found] = await this.traces.exportCounts.countLate([
      { ...window, startTime: at(`${DAY}T00:00:00Z`), endTime: at(`${NEXT_DAY}T00:00:00Z`) },
    ]);
    return { seconds: (performance.now() - began) / 1000, found };
  }

  #select(project) {
    return `SELECT ${this.#columns.map(({ name, sql }) => `${sql} AS ${name}`).join(', ')}
      FROM runs r JOIN run_payloads p USING (tenant_id, project_id, start_time, id, trace_id) ${this.#totalsJoin}
      WHERE r.tenant_id = '${TENANT}' AND r.project_id = '${project}' AND p.tenant_id = '${TENANT}'
      AND p.project_id = '${project}'`.replaceAll('\n', ' ');
  }

  #environment({ project }) {
    // the columns' SQL takes its values from settings, as that of the worker does
    const settings = { tenant: TENANT, project, start: `${DAY}T00:00:00Z`, end: `${NEXT_DAY}T00:00:00Z` };
    const PGOPTIONS = [
      ...PLAN.map((name) => `-c ${name}=off`),
      ...Object.entries(settings).map(([name, value]) => `-c agentplane.export_${name}=${value}`),
      '-c enable_partitionwise_join=on -c max_parallel_workers_per_gather=0',
    ].join(' ');
    return { ...process.env, PGOPTIONS, URI: this.uri };
  }

  #pipe(table, format, sink, more = {}) {
    const COPY = `COPY (${this.#select(table.project)} ORDER BY r.start_time, r.id) TO STDOUT ${format}`;
    return measure('bash', ['-o', 'pipefail', '-c', `psql -q "$URI" -c "$COPY" | ${sink}`], {
      env: { ...this.#environment(table), COPY, ...more },
    });
  }

  /** `psql | zstd -3` into nothing. */
  floor(table) {
    return this.#pipe(table, '', 'zstd -q -3 -T1 > /dev/null');
  }

  /** psql as CSV into DuckDB, which writes Parquet to a file; uploads nothing. */
  duckdb(table, file) {
    const columns = this.#columns.map(({ name, type }) => `'${name}': '${DUCKDB[type] ?? 'VARCHAR'}'`);
    const sink = `"${process.execPath}" "${join(import.meta.dirname, 'duckdb-sink.mjs')}"`;
    return this.#pipe(table, '(FORMAT csv)', sink, { COLUMNS: `{${columns.join(', ')}}`, FILE: file });
  }

  /** @param python one that has chdb */
  clickhouse(table, python, file) {
    const { port, username, password } = new URL(this.uri);
    const settings = {
      tenant: TENANT,
      project: table.project,
      start: `${DAY}T00:00:00Z`,
      end: `${NEXT_DAY}T00:00:00Z`,
    };
    for (const [name, value] of Object.entries(settings))
      this.sql(`ALTER ROLE CURRENT_USER SET agentplane.export_${name} = '${value}'`);
    const text = this.#columns.map(({ name, type, sql }) =>
      type.endsWith('[]') ? `(${sql})::text AS ${name}` : `${sql} AS ${name}`,
    );
    this.sql(
      `CREATE OR REPLACE VIEW bench_rows AS ${this.#select(table.project).replace(/^SELECT .*?\s+FROM runs r JOIN/, `SELECT ${text.join(', ')} FROM runs r JOIN`)}`,
    );
    const script = join(import.meta.dirname, 'clickhouse_export.py');
    return measure(python, [script, port, username, decodeURIComponent(password), 'bench_rows', file], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME },
    });
  }

  /** As an exporter on parquetjs-lite would do it, of the first rows. */
  parquetjs(table, rows, file) {
    const SELECT = `${this.#select(table.project)} ORDER BY r.start_time, r.id LIMIT ${rows}`;
    return measure(process.execPath, [join(import.meta.dirname, 'parquetjs-export.mjs')], {
      env: { ...this.#environment(table), SELECT, FILE: file },
    });
  }
}
