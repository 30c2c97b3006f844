import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startObjectStore, type EmbeddedObjectStore, type FaultHook } from '#lib/embedded-object-store';
import { openObjectStore, type ObjectStore } from '#lib/object-store';
import type { BulkExportRunSpec } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { openTraceStore, type TraceStore } from '#lib/trace-store';
import { WorkerProcess } from './worker-process.js';

/** Keys of its store, which foreign stores take too. */
export const STAND_KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'very secret' };
const BUCKET = 'exports';
const LAKE_BUCKET = 'lake';
const PREFIX = 'x';
const log = createLogger('test', 'silent');

/** A run as a client sends it, with its payloads as JSON text. */
export interface SentRun {
  readonly run: Record<string, unknown>;
  readonly fields?: Readonly<Record<string, string>>;
}

/** A trace store and an object store, between which workers export as processes of their own. */
export class ExportStand {
  readonly tenantId = randomUUID();
  /** Decides the fate of each request to the object store. */
  fault: FaultHook | undefined;
  readonly #uri: string;
  readonly #workers: WorkerProcess[] = [];

  private constructor(
    uri: string,
    readonly traces: TraceStore,
    /** Where the object store keeps its buckets, as files. */
    readonly folder: string,
  ) {
    this.#uri = uri;
  }

  #server: EmbeddedObjectStore | undefined;
  #store: ObjectStore | undefined;

  /** @param uri of an empty database */
  static async start(uri: string): Promise<ExportStand> {
    const folder = await mkdtemp(join(tmpdir(), 'export-stand-'));
    const faults: { of?: ExportStand } = {};
    const server = await startObjectStore({
      folder,
      host: '127.0.0.1',
      port: 0,
      log,
      buckets: [BUCKET, LAKE_BUCKET],
      ...STAND_KEYS,
      fault: (target) => faults.of?.fault?.(target),
    });
    const open = () =>
      openObjectStore({ endpoint: server.endpoint, allowPrivateEndpoints: true, ...STAND_KEYS });
    const lake = { store: open(), bucket: LAKE_BUCKET, prefix: 'days', quietHours: 0 };
    const traces = openTraceStore({ uri, poolSize: 3, log, clock: systemClock, lake });
    await traces.migrate();
    const stand = new ExportStand(uri, traces, folder);
    faults.of = stand;
    stand.#server = server;
    stand.#store = open();
    return stand;
  }

  async stop(): Promise<void> {
    for (const worker of this.#workers) if (worker.isRunning) worker.kill('SIGKILL');
    this.#store?.close();
    await this.#server?.stop();
    await this.traces.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** With all rights. */
  get store(): ObjectStore {
    if (!this.#store) throw new Error('the stand was not started');
    return this.#store;
  }

  /** Of the object store. */
  get endpoint(): string {
    return this.#server?.endpoint ?? '';
  }

  get bucket(): string {
    return BUCKET;
  }

  /** @returns the id of the project, all of whose runs were accepted */
  async ingest(project: string, runs: readonly SentRun[]): Promise<string> {
    const post = runs.map(({ run, fields = {} }) => ({
      run: Buffer.from(
        JSON.stringify({ id: randomUUID(), run_type: 'chain', session_name: project, ...run }),
      ),
      fields: Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, Buffer.from(text)])),
    }));
    const { refused } = await this.traces.ingest(this.tenantId, { post, patch: [] });
    if (refused.length > 0) throw new Error(JSON.stringify(refused[0]));
    return (await this.traces.projects.ensure(this.tenantId, project)).id;
  }

  /** Seals all days that have ended. @returns rows that are sealed */
  async seal(): Promise<number> {
    const { lake } = this.traces;
    const { signal } = new AbortController();
    // the second look finds that nothing has changed since the first
    for (let look = 0; look < 2; look++) await lake?.look();
    let rows = 0;
    for (;;) {
      const day = await lake?.sealNext({ signal });
      if (!day) return rows;
      rows += day.rows;
    }
  }

  /** The folder with the files of sealed days. */
  get lakeFolder(): string {
    return join(this.folder, LAKE_BUCKET);
  }

  /** Of one day. */
  specOf(projectId: string, day: string, change: Partial<BulkExportRunSpec> = {}): BulkExportRunSpec {
    const config = {
      bucketName: BUCKET,
      prefix: PREFIX,
      endpointUrl: this.endpoint,
      includeBucketInPrefix: true,
    };
    return {
      exportName: 'e',
      exportId: randomUUID(),
      tenantId: this.tenantId,
      projectId,
      startTime: `${day}T00:00:00Z`,
      endTime: `${day}T23:59:59.999999Z`,
      destination: { config },
      format: 'parquet',
      formatVersion: 'v2_beta',
      compression: 'zstd',
      ...change,
    };
  }

  /** One attempt. */
  work(
    spec: BulkExportRunSpec,
    runUid: string,
    attempt: number,
    env: Readonly<Record<string, string>> = {},
  ): WorkerProcess {
    const worker = new WorkerProcess({
      AGENTPLANE_DATABASE_URI: this.#uri,
      AGENTPLANE_EXPORT_RUN_UID: runUid,
      AGENTPLANE_EXPORT_ATTEMPT: String(attempt),
      AGENTPLANE_EXPORT_SPEC: JSON.stringify(spec),
      AGENTPLANE_STORE_ACCESS_KEY_ID: STAND_KEYS.accessKeyId,
      AGENTPLANE_STORE_SECRET_ACCESS_KEY: STAND_KEYS.secretAccessKey,
      AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS: 'true',
      AGENTPLANE_LAKE: 'read',
      AGENTPLANE_LAKE_PREFIX: 'days',
      AGENTPLANE_ATTACHMENT_BUCKET: LAKE_BUCKET,
      AGENTPLANE_ATTACHMENT_ENDPOINT: this.endpoint,
      AGENTPLANE_ATTACHMENT_ACCESS_KEY_ID: STAND_KEYS.accessKeyId,
      AGENTPLANE_ATTACHMENT_SECRET_ACCESS_KEY: STAND_KEYS.secretAccessKey,
      ...env,
    });
    this.#workers.push(worker);
    return worker;
  }

  /** The folder with the files of an export, without its manifests. */
  folderOf({ exportId }: Pick<BulkExportRunSpec, 'exportId'>): string {
    return join(this.folder, BUCKET, PREFIX, `export_id=${exportId}`);
  }
}
