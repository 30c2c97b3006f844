import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from '@jest/globals';
import pg from 'pg';
import type { FaultTarget } from '#lib/embedded-object-store';
import type { BulkExportRunSpec } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { ExportStand } from '../../../apps/export-worker/testdata/export-stand.js';
import type { WorkerProcess } from '../../../apps/export-worker/testdata/worker-process.js';

const DAY = '2026-11-20';
const ROWS_PER_FILE = 20;
const LOCK = 4711;

/** Where an attempt is killed: at its n-th request to the object store, or its n-th write of progress, from 1. */
export interface KillPoint {
  readonly side: 'store' | 'progress';
  readonly number: number;
  /** Whether the request or write has its effect, of which the attempt then never hears. */
  readonly isDone: boolean;
}

/** What a request to the object store is for. */
export type StoreCall =
  | 'begin upload'
  | 'send part'
  | 'complete upload'
  | 'look at object'
  | 'write manifest'
  | 'abort upload'
  | 'list uploads';

function callOf({ method, query }: FaultTarget): StoreCall {
  if (method === 'HEAD') return 'look at object';
  if (query.has('partNumber')) return 'send part';
  if (query.has('uploads')) return method === 'POST' ? 'begin upload' : 'list uploads';
  if (query.has('uploadId')) return method === 'POST' ? 'complete upload' : 'abort upload';
  if (method === 'PUT') return 'write manifest';
  throw new Error(`a worker sent ${method} with ${[...query.keys()].join(', ')}`);
}

/** An export of some files whose attempts are killed at a point each; the last is left alone. */
export class KilledAttempts {
  readonly #stand: ExportStand;
  readonly #client: pg.Client;
  readonly #projectId: string;

  private constructor(stand: ExportStand, client: pg.Client, projectId: string) {
    this.#stand = stand;
    this.#client = client;
    this.#projectId = projectId;
  }

  /** @param uri of an empty database */
  static async start(uri: string, files: number): Promise<KilledAttempts> {
    const stand = await ExportStand.start(uri);
    const rows = files * ROWS_PER_FILE;
    const runs = Array.from({ length: rows }, (_, n) => {
      const start_time = new Date(Date.parse(`${DAY}T00:00:00Z`) + Math.floor((n * 86_400_000) / rows));
      return { run: { name: `run ${n}`, start_time: start_time.toISOString() }, fields: { inputs: `${n}` } };
    });
    const projectId = await stand.ingest('killed', runs);
    const client = new pg.Client({ connectionString: uri });
    // the database is dropped before the connection is closed
    client.on('error', () => undefined);
    await client.connect();
    await client.query(`CREATE SEQUENCE progress_writes;
      CREATE TABLE held_write (number bigint);
      CREATE FUNCTION hold_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('progress_writes') = (SELECT number FROM held_write) THEN
          PERFORM pg_advisory_xact_lock(${LOCK});
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER hold_write BEFORE INSERT OR UPDATE ON export_progress FOR EACH ROW EXECUTE FUNCTION hold_write();
      SELECT pg_advisory_lock(${LOCK})`);
    return new KilledAttempts(stand, client, projectId);
  }

  async stop(): Promise<void> {
    await this.#client.end();
    await this.#stand.stop();
  }

  /** What an attempt asks of the object store when nothing happens to it, and how often it writes its progress. */
  async undisturbed(): Promise<{ calls: readonly StoreCall[]; writes: number }> {
    const calls: StoreCall[] = [];
    this.#stand.fault = (target) => void calls.push(callOf(target));
    const { runUid, spec } = this.#newRun();
    await this.#holdWrite(undefined);
    await this.#complete(spec, runUid, 1);
    const { rows } = await this.#client.query<{ n: string }>('SELECT last_value AS n FROM progress_writes');
    return { calls, writes: Number(rows[0]?.n) };
  }

  /**
   * Kills an attempt at each point, lets the next one be, and compares what lies in the bucket with the database.
   * @returns the last call of each killed attempt; undefined where it ended before its point
   */
  async killAt(points: readonly KillPoint[]): Promise<readonly (StoreCall | 'progress' | undefined)[]> {
    const { runUid, spec } = this.#newRun();
    const reached: (StoreCall | 'progress' | undefined)[] = [];
    for (const [n, point] of points.entries())
      reached.push(
        point.side === 'store'
          ? await this.#killAtCall(spec, runUid, n + 1, point)
          : await this.#killAtWrite(spec, runUid, n + 1, point),
      );
    this.#stand.fault = undefined;
    await this.#holdWrite(undefined);
    await this.#complete(spec, runUid, points.length + 1);
    await this.#expectExact(spec);
    return reached;
  }

  #newRun(): { runUid: string; spec: BulkExportRunSpec } {
    return { runUid: randomUUID(), spec: this.#stand.specOf(this.#projectId, DAY) };
  }

  #work(spec: BulkExportRunSpec, runUid: string, attempt: number): WorkerProcess {
    return this.#stand.work(spec, runUid, attempt, { AGENTPLANE_EXPORT_FILE_ROWS: String(ROWS_PER_FILE) });
  }

  async #complete(spec: BulkExportRunSpec, runUid: string, attempt: number): Promise<void> {
    const worker = this.#work(spec, runUid, attempt);
    const ended = await worker.ended;
    const record = await this.#stand.traces.exportProgress.find(runUid);
    // a killed attempt may have recorded that it was complete: the next one has nothing to do
    if (ended !== 0 || record?.state !== 'completed')
      throw new Error(`attempt ${attempt} ended with ${ended}: ${JSON.stringify(worker.log)}`);
  }

  async #killAtCall(
    spec: BulkExportRunSpec,
    runUid: string,
    attempt: number,
    point: KillPoint,
  ): Promise<StoreCall | undefined> {
    let count = 0;
    let last: StoreCall | undefined;
    await this.#holdWrite(undefined);
    const worker = this.#work(spec, runUid, attempt);
    this.#stand.fault = (target) => {
      if (++count !== point.number) return undefined;
      last = callOf(target);
      worker.kill('SIGKILL');
      return { kind: point.isDone ? 'lost-answer' : 'reset' };
    };
    await worker.ended;
    return last;
  }

  async #killAtWrite(
    spec: BulkExportRunSpec,
    runUid: string,
    attempt: number,
    point: KillPoint,
  ): Promise<'progress' | undefined> {
    this.#stand.fault = undefined;
    await this.#holdWrite(point.number);
    const worker = this.#work(spec, runUid, attempt);
    let isOver = false;
    void worker.ended.then(() => (isOver = true));
    const waiting = await waitFor(async () => (isOver ? 'over' : await this.#waiting()), {
      timeoutMs: 60_000,
      intervalMs: 10,
    });
    if (waiting === 'over') return undefined;
    worker.kill('SIGKILL');
    await worker.ended;
    if (!point.isDone) await this.#client.query('SELECT pg_terminate_backend($1)', [waiting]);
    // the backend does what it was asked for, although nobody waits for its answer any more
    await this.#client.query(`SELECT pg_advisory_unlock(${LOCK})`);
    await waitFor(async () => (await this.#waiting()) === undefined);
    await this.#client.query(`SELECT pg_advisory_lock(${LOCK})`);
    return 'progress';
  }

  /** The backend that waits with its write. */
  async #waiting(): Promise<number | undefined> {
    const { rows } = await this.#client.query<{ pid: number }>(
      "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted",
      [LOCK],
    );
    return rows[0]?.pid;
  }

  async #holdWrite(number: number | undefined): Promise<void> {
    await this.#client.query('ALTER SEQUENCE progress_writes RESTART');
    await this.#client.query('DELETE FROM held_write');
    if (number !== undefined) await this.#client.query('INSERT INTO held_write VALUES ($1)', [number]);
  }

  /** Sorted ids of the files of the manifest are those of the database; nothing else lies there, and no upload is open. */
  async #expectExact(spec: BulkExportRunSpec): Promise<void> {
    const { store, bucket, folder } = this.#stand;
    const key = `x/manifests/export_id=${spec.exportId}/runs/${DAY}.json`;
    const text = Buffer.concat(await (await store.get(bucket, key)).toArray()).toString();
    const manifest = JSON.parse(text) as {
      rows: number;
      files: { key: string; rows: number; bytes: number }[];
    };
    const keys: string[] = [];
    for await (const entry of store.list(bucket, `x/export_id=${spec.exportId}/`)) keys.push(entry.key);
    expect(keys).toEqual(manifest.files.map((file) => file.key));
    const found = await this.#idsIn(keys.map((name) => join(folder, bucket, name)));
    const { rows } = await this.#client.query<{ id: string }>(
      'SELECT id FROM runs WHERE project_id = $1 ORDER BY start_time, id, trace_id',
      [this.#projectId],
    );
    expect(found).toEqual(rows.map(({ id }) => id));
    expect(manifest.rows).toBe(rows.length);
    expect(await readdir(join(folder, '.store/uploads', bucket))).toEqual([]);
  }

  async #idsIn(files: readonly string[]): Promise<readonly string[]> {
    const connection = await (await DuckDBInstance.create()).connect();
    try {
      const list = files.map((file) => `'${file}'`).join(', ');
      const read = await connection.runAndReadAll(
        `SELECT id FROM read_parquet([${list}], hive_partitioning = false) ORDER BY start_time, id, trace_id`,
      );
      return read.getRowObjectsJson().map((row) => String(row['id']));
    } finally {
      connection.closeSync();
    }
  }
}
