import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from '@jest/globals';
import type { BulkExportRunSpec } from '#lib/resources';
import { ExportStand } from '../../../apps/export-worker/testdata/export-stand.js';
import type { WorkerProcess } from '../../../apps/export-worker/testdata/worker-process.js';
import { isAt, type KillPoint, type Step, stepOf } from './kill-point.js';
import { ProgressGate } from './progress-gate.js';

const DAY = '2026-11-20';
const ROWS_PER_FILE = 20;

/** Exports of some files whose attempts are killed at a point each; the last attempt of each is left alone. */
export class KilledAttempts {
  readonly #stand: ExportStand;
  readonly #gate: ProgressGate;
  readonly #projectId: string;
  #kills = 0;

  private constructor(stand: ExportStand, gate: ProgressGate, projectId: string) {
    this.#stand = stand;
    this.#gate = gate;
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
    return new KilledAttempts(stand, await ProgressGate.start(uri), projectId);
  }

  async stop(): Promise<void> {
    await this.#gate.stop();
    await this.#stand.stop();
  }

  /** How many attempts were killed so far. */
  get kills(): number {
    return this.#kills;
  }

  /** What an attempt asks of the object store, and writes of its progress, when nothing happens to it. */
  async undisturbed(): Promise<{ readonly calls: readonly Step[]; readonly writes: readonly Step[] }> {
    const calls: Step[] = [];
    const { runUid, spec } = this.#newRun();
    await this.#gate.hold(undefined);
    this.#stand.fault = (target) => void calls.push(stepOf(target));
    await this.#complete(spec, runUid, 1);
    return { calls, writes: await this.#gate.writes() };
  }

  /**
   * Kills an attempt of one export at each point, in turn, lets the next one be, and compares what lies in the bucket
   * with the database. Each attempt goes on where those before it came to.
   */
  async killAt(points: readonly KillPoint[]): Promise<void> {
    const { runUid, spec } = this.#newRun();
    for (const [n, point] of points.entries()) {
      const isReached = await this.#kill(spec, runUid, n + 1, point);
      if (!isReached) throw new Error(`attempt ${n + 1} ended before ${JSON.stringify(point)}`);
      this.#kills++;
    }
    this.#stand.fault = undefined;
    await this.#gate.hold(undefined);
    await this.#complete(spec, runUid, points.length + 1);
    await this.#expectExact(spec);
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

  #kill(spec: BulkExportRunSpec, runUid: string, attempt: number, point: KillPoint): Promise<boolean> {
    return point.side === 'store'
      ? this.#killAtCall(spec, runUid, attempt, point)
      : this.#killAtWrite(spec, runUid, attempt, point);
  }

  async #killAtCall(
    spec: BulkExportRunSpec,
    runUid: string,
    attempt: number,
    point: KillPoint,
  ): Promise<boolean> {
    let isReached = false;
    await this.#gate.hold(undefined);
    const worker = this.#work(spec, runUid, attempt);
    this.#stand.fault = (target) => {
      if (isReached || !isAt(stepOf(target), point)) return undefined;
      isReached = true;
      worker.kill('SIGKILL');
      return { kind: point.isDone ? 'lost-answer' : 'reset' };
    };
    await worker.ended;
    return isReached;
  }

  async #killAtWrite(
    spec: BulkExportRunSpec,
    runUid: string,
    attempt: number,
    point: KillPoint,
  ): Promise<boolean> {
    this.#stand.fault = undefined;
    await this.#gate.hold(point);
    const worker = this.#work(spec, runUid, attempt);
    const backend = await this.#gate.reached(() => !worker.isRunning);
    if (backend === undefined) return false;
    worker.kill('SIGKILL');
    await worker.ended;
    await this.#gate.release(backend, point.isDone);
    return true;
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
    const stored = await this.#gate.idsOf(this.#projectId);
    expect(found).toEqual(stored);
    expect(manifest.rows).toBe(stored.length);
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
