import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from '@jest/globals';
import { Client } from 'minio';
import { type ObjectStore, openObjectStore } from '#lib/object-store';
import type { BulkExportRunSpec } from '#lib/resources';
import { ExportStand, STAND_KEYS } from '../../../apps/export-worker/testdata/export-stand.js';
import type { ForeignStore, RunningStore } from '../../support/foreign-stores.js';
import { StoreFront, type StoreRequest, type StoreTrouble } from '../../support/store-front.js';

const DAY = '2026-11-20';
const FILES = 3;
const ROWS_PER_FILE = 20;
const MOST_ATTEMPTS = 8;

/** What a key may do beside writing. */
export type Permissions = 'write' | 'write and delete' | 'all';

/** Requests of an export, by what they are for. */
type Call = 'begin upload' | 'send part' | 'complete upload' | 'write manifest';

function callOf({ method, query }: StoreRequest): Call | undefined {
  if (query.has('partNumber')) return 'send part';
  if (method === 'POST') return query.has('uploads') ? 'begin upload' : 'complete upload';
  return method === 'PUT' ? 'write manifest' : undefined;
}

/** What a key may not do is refused before anything else. */
function refusalOf({ method, query }: StoreRequest, permissions: Permissions): StoreTrouble | undefined {
  const isRead = method === 'GET' || method === 'HEAD' || query.has('uploads');
  const isRefused =
    (method === 'DELETE' && permissions === 'write') ||
    (isRead && method !== 'POST' && permissions !== 'all');
  return isRefused ? { kind: 'error', status: 403, code: 'AccessDenied' } : undefined;
}

/** An export of three files to a store whose answers go wrong. */
export class TroubledStore {
  #front: StoreFront | undefined;
  #foreign: RunningStore | undefined;
  #plain: ObjectStore | undefined;
  #troubleOf: (request: StoreRequest) => StoreTrouble | undefined = () => undefined;

  private constructor(
    readonly stand: ExportStand,
    readonly projectId: string,
    /** For copies of files. */
    readonly folder: string,
  ) {}

  /**
   * @param uri of an empty database
   * @param foreign absent: the embedded store
   */
  static async start(uri: string, folder: string, foreign?: ForeignStore): Promise<TroubledStore> {
    const stand = await ExportStand.start(uri);
    const rows = FILES * ROWS_PER_FILE;
    const runs = Array.from({ length: rows }, (_, n) => {
      const start_time = new Date(Date.parse(`${DAY}T00:00:00Z`) + Math.floor((n * 86_400_000) / rows));
      return { run: { name: `run ${n}`, start_time: start_time.toISOString() }, fields: { inputs: `${n}` } };
    });
    const troubled = new TroubledStore(stand, await stand.ingest('troubled', runs), folder);
    troubled.#foreign = await foreign?.start({
      folder: join(folder, 'store'),
      bucket: stand.bucket,
      ...STAND_KEYS,
    });
    const endpoint = troubled.#endpoint;
    troubled.#plain = openObjectStore({ endpoint, allowPrivateEndpoints: true, ...STAND_KEYS });
    troubled.#front = await StoreFront.start(endpoint, (request) => troubled.#troubleOf(request));
    return troubled;
  }

  /** Of the store behind the front. */
  get #endpoint(): string {
    return this.#foreign?.endpoint ?? this.stand.endpoint;
  }

  async stop(): Promise<void> {
    this.#plain?.close();
    this.#front?.stop();
    this.#foreign?.stop();
    await this.stand.stop();
  }

  /**
   * Each kind of request meets the trouble once, at another file than the others; attempts follow one another until one
   * completes. Then the files of the manifest hold what the database does, no other object lies there, and nothing that
   * the key could have cleared away is left.
   */
  async survive(trouble: StoreTrouble, permissions: Permissions): Promise<void> {
    const before = await this.#uploads();
    const met = new Set<Call>();
    let uploads = 0;
    this.#troubleOf = (request) => {
      const refusal = refusalOf(request, permissions);
      if (refusal) return refusal;
      const call = callOf(request);
      if (call === 'begin upload') uploads++;
      if (call === undefined || met.has(call)) return undefined;
      const isTurn = { 'begin upload': 1, 'send part': 2, 'complete upload': 3, 'write manifest': 0 }[call];
      if (uploads < isTurn) return undefined;
      met.add(call);
      return trouble;
    };
    const { stand } = this;
    const made = stand.specOf(this.projectId, DAY);
    const { config } = made.destination;
    const destination = { config: { ...config, endpointUrl: this.#front?.endpoint ?? '' } };
    const spec: BulkExportRunSpec = { ...made, destination };
    const runUid = randomUUID();
    const exits: unknown[] = [];
    for (let attempt = 1; exits.at(-1) !== 0; attempt++) {
      if (attempt > MOST_ATTEMPTS) throw new Error(`no attempt has completed: ${JSON.stringify(exits)}`);
      const worker = stand.work(spec, runUid, attempt, {
        AGENTPLANE_EXPORT_FILE_ROWS: String(ROWS_PER_FILE),
      });
      exits.push(await worker.ended);
      // for good: no attempt would follow
      if (exits.at(-1) === 65) throw new Error(`refused for good: ${JSON.stringify(worker.log)}`);
    }
    expect([...met].sort()).toEqual(['begin upload', 'complete upload', 'send part', 'write manifest']);
    await this.#expectExact(spec, permissions, trouble, before);
  }

  async #expectExact(
    spec: BulkExportRunSpec,
    permissions: Permissions,
    trouble: StoreTrouble,
    before: readonly string[],
  ): Promise<void> {
    const store = this.#plain;
    if (!store) throw new Error('the store was not started');
    const { bucket } = this.stand;
    const manifestKey = `x/manifests/export_id=${spec.exportId}/runs/${DAY}.json`;
    const text = Buffer.concat(await (await store.get(bucket, manifestKey)).toArray()).toString();
    const manifest = JSON.parse(text) as { rows: number; files: { key: string }[] };
    const named = manifest.files.map(({ key }) => key);
    const keys: string[] = [];
    for await (const { key } of store.list(bucket, `x/export_id=${spec.exportId}/`)) keys.push(key);
    expect(keys).toEqual(named);
    const copies: string[] = [];
    for (const [at, key] of named.entries()) {
      const copy = join(this.folder, `${at}.parquet`);
      writeFileSync(copy, Buffer.concat(await (await store.get(bucket, key)).toArray()));
      copies.push(copy);
    }
    expect(await idsIn(copies)).toEqual(await this.#stored());
    expect(manifest.rows).toBe(FILES * ROWS_PER_FILE);
    // keys that may only write leave some, which other rows find
    if (permissions === 'write') return;
    const left = (await this.#uploads()).filter((id) => !before.includes(id));
    // one whose start was never answered can be found by a key that may list, and by no other
    expect(left).toHaveLength(permissions === 'write and delete' && trouble.kind === 'lost answer' ? 1 : 0);
  }

  /** Ids of open ones. */
  async #uploads(): Promise<readonly string[]> {
    const { hostname: endPoint, port } = new URL(this.#endpoint);
    const { accessKeyId: accessKey, secretAccessKey: secretKey } = STAND_KEYS;
    const client = new Client({ endPoint, port: Number(port), useSSL: false, accessKey, secretKey });
    const open = (await client.listIncompleteUploads(this.stand.bucket, '', true).toArray()) as {
      uploadId: string;
    }[];
    return open.map(({ uploadId }) => uploadId);
  }

  async #stored(): Promise<readonly string[]> {
    const { columns, stream } = await this.stand.traces.exportSource.read({
      tenantId: this.stand.tenantId,
      projectId: this.projectId,
      fields: ['id'],
      startTime: 0n,
      endTime: 4_000_000_000_000_000n,
    });
    const { CopyBinaryReader } = await import('#lib/postgres');
    const reader = new CopyBinaryReader(columns.length);
    const at = columns.findIndex(({ name }) => name === 'id');
    const ids: string[] = [];
    for await (const chunk of stream) {
      reader.push(chunk as Buffer);
      while (reader.next()) {
        const from = reader.offsets[at] ?? 0;
        const hex = reader.bytes.subarray(from, from + 16).toString('hex');
        ids.push(hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'));
      }
    }
    return ids.sort();
  }
}

async function idsIn(files: readonly string[]): Promise<readonly string[]> {
  const connection = await (await DuckDBInstance.create()).connect();
  try {
    const list = files.map((file) => `'${file}'`).join(', ');
    const sql = `SELECT id FROM read_parquet([${list}], hive_partitioning = false) ORDER BY id`;
    return (await connection.runAndReadAll(sql)).getRowObjectsJson().map((row) => String(row['id']));
  } finally {
    connection.closeSync();
  }
}
