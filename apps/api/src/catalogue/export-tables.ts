import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { tableFolder } from '#lib/export-plan';
import { hintKey, metadataKey } from '#lib/iceberg';
import type { ObjectStore } from '#lib/object-store';
import {
  type BulkExport,
  type BulkExportDestination,
  CONDITION,
  idOf,
  isConditionTrue,
} from '#lib/resources';
import type { Homes } from '../kubernetes/homes.js';
import type { Workspaces } from '../tenancy/workspaces.js';

export type TableResource = 'runs' | 'feedback';

/** Table of Iceberg that an export, or a schedule, writes. */
export interface ExportTable {
  /** Name of the project: the namespace in the catalogue. */
  readonly namespace: string;
  /** Name of the export; `_feedback` is added for the table of feedback, since no name of a resource has a `_`. */
  readonly name: string;
  readonly source: BulkExport;
  readonly resource: TableResource;
}

/** Newest metadata of a table, as the JSON that was written. */
export interface TableMetadataText {
  readonly location: string;
  readonly json: string;
}

/** Bucket of a table, for the client that reads its files. */
export interface TableStore {
  readonly endpoint: string | undefined;
  readonly region: string;
  /** False where the host of the endpoint names the bucket. */
  readonly isBucketInPath: boolean;
}

const MAX_METADATA_BYTES = 16 * 1_048_576;
const SIGNED_FOR_SECONDS = 600;

/** Tables of Iceberg in the buckets of a workspace, found by the exports that write them. */
export class ExportTables {
  constructor(
    private readonly homes: Pick<Homes, 'exports' | 'destinations' | 'secrets'>,
    private readonly workspaces: Pick<Workspaces, 'homeOf'>,
    private readonly allowPrivateEndpoints: boolean,
  ) {}

  /** Tables that have been written, by namespace and name. */
  list({ tenantId }: Caller): readonly ExportTable[] {
    const all = this.homes.exports.list(this.workspaces.homeOf(tenantId).namespace);
    return all
      .filter((one) => one.spec.table === 'iceberg' && tableIdOf(one) === idOf(one) && isWritten(one))
      .flatMap((source) =>
        (source.spec.resources ?? ['runs']).map((resource) => ({
          namespace: source.status?.tracingProjectName ?? source.spec.tracingProject.name ?? '',
          name: `${source.metadata.name}${resource === 'feedback' ? '_feedback' : ''}`,
          source,
          resource,
        })),
      )
      .sort((a, b) => (`${a.namespace}\0${a.name}` < `${b.namespace}\0${b.name}` ? -1 : 1));
  }

  /** @throws PublicError not_found */
  find(caller: Caller, namespace: string, name: string): ExportTable {
    const found = this.list(caller).find((one) => one.namespace === namespace && one.name === name);
    if (!found) throw new PublicError('not_found', `Table does not exist: ${namespace}.${name}`);
    return found;
  }

  /** @throws PublicError not_found, unavailable */
  async load(
    { tenantId }: Caller,
    table: ExportTable,
  ): Promise<TableMetadataText & { readonly store: TableStore }> {
    const destination = this.#destinationOf(table.source);
    const { bucketName, endpointUrl, region, includeBucketInPrefix } = destination.spec.config;
    const folder = folderOf(table, destination);
    const found = await this.#inStore(tenantId, destination, (store) =>
      newestMetadata(store, bucketName, folder),
    );
    if (!found)
      throw new PublicError(
        'not_found',
        `Table does not exist: s3://${bucketName}/${folder} has no metadata`,
      );
    const isBucketInPath = endpointUrl !== undefined && includeBucketInPrefix;
    return {
      location: `s3://${bucketName}/${found.key}`,
      json: found.json,
      store: { endpoint: endpointUrl, region: region ?? 'us-east-1', isBucketInPath },
    };
  }

  /**
   * URL with which one object of the table can be read for ten minutes, by the credentials of the destination.
   * @param uri the request that a client would make of the store
   * @throws PublicError not_found; forbidden for an object that is none of the table's
   */
  async sign(caller: Caller, exportId: string, method: string, uri: string): Promise<string> {
    const { namespace } = this.workspaces.homeOf(caller.tenantId);
    const source = this.homes.exports.find(namespace, exportId);
    if (source?.spec.table !== 'iceberg') throw new PublicError('not_found', 'There is no such table');
    const destination = this.#destinationOf(source);
    const { bucketName } = destination.spec.config;
    const key = keyOf(uri, bucketName);
    if (
      key === undefined ||
      (method !== 'GET' && method !== 'HEAD') ||
      !this.#isOfTable(source, destination, key)
    )
      throw new PublicError('forbidden', 'Only reads of files of the table are signed');
    return await this.#inStore(caller.tenantId, destination, (store) =>
      store.presign(bucketName, key, method, SIGNED_FOR_SECONDS),
    );
  }

  /** True for metadata of the table and for files of its export, or of the exports of its schedule. */
  #isOfTable(source: BulkExport, destination: BulkExportDestination, key: string): boolean {
    const resources = source.spec.resources ?? ['runs'];
    const folders = resources.map((resource) => folderOf({ source, resource }, destination));
    if (folders.some((folder) => key.startsWith(`${folder}/`))) return true;
    const prefix = trimmed(destination.spec.config.prefix);
    const [, exportId] = /^export_id=([0-9a-f-]{36})\//.exec(key.slice(prefix.length)) ?? [];
    if (!key.startsWith(prefix) || exportId === undefined) return false;
    const writer = this.homes.exports.find(source.metadata.namespace ?? '', exportId);
    return writer !== undefined && tableIdOf(writer) === idOf(source);
  }

  /** @throws PublicError not_found */
  #destinationOf({ metadata, spec }: BulkExport): BulkExportDestination {
    const found = this.homes.destinations.findByName(metadata.namespace ?? '', spec.destinationRef.name);
    if (!found) throw new PublicError('not_found', 'The destination of the table was deleted');
    return found;
  }

  async #inStore<T>(
    tenantId: string,
    destination: BulkExportDestination,
    work: (store: ObjectStore) => Promise<T>,
  ): Promise<T> {
    // loaded when it is needed: the client takes 20 MB
    const { destinationSettings, ObjectStoreError, openObjectStore } = await import('#lib/object-store');
    const { config, credentialsSecretRef } = destination.spec;
    const { namespace = '' } = destination.metadata;
    const secret = credentialsSecretRef
      ? await this.homes.secrets.values({ namespace, name: credentialsSecretRef.name })
      : undefined;
    const keys = {
      accessKeyId: secret?.get('access_key_id'),
      secretAccessKey: secret?.get('secret_access_key'),
      sessionToken: secret?.get('session_token'),
      allowEnvironmentCredentials:
        secret === undefined && this.workspaces.homeOf(tenantId).allowsEnvironmentCredentials,
    };
    const { allowPrivateEndpoints } = this;
    let store: ObjectStore | undefined;
    try {
      store = openObjectStore({ ...destinationSettings(config, keys), allowPrivateEndpoints });
      return await work(store);
    } catch (error) {
      if (!(error instanceof ObjectStoreError)) throw error;
      const why = 'advice' in error ? String(error.advice) : error.message;
      throw new PublicError('unavailable', `Reading the table failed: ${why}`, [], {
        cause: error,
      });
    } finally {
      store?.close();
    }
  }
}

function isWritten({ status }: BulkExport): boolean {
  return isConditionTrue(status?.conditions, CONDITION.completed) || status?.spawnedUntil !== undefined;
}

/** Id of the export or schedule whose table an export adds to. An extra export of a schedule has a table of its own. */
function tableIdOf(source: BulkExport): string | undefined {
  const { sourceExport } = source.spec;
  return sourceExport && sourceExport.runRequestId === undefined ? sourceExport.id : idOf(source);
}

function folderOf(
  { source, resource }: Pick<ExportTable, 'source' | 'resource'>,
  destination: BulkExportDestination,
): string {
  const id = idOf(source) ?? '';
  const of = source.spec.intervalHours === undefined ? { exportId: id } : { scheduleId: id };
  return tableFolder(destination.spec.config.prefix ?? '', of, resource);
}

/** The prefix of keys, ending with a slash unless it is empty. */
function trimmed(prefix = ''): string {
  const inside = prefix.replace(/^\/+|\/+$/g, '');
  return inside === '' ? '' : `${inside}/`;
}

/** Key of the object that a request names, in the path or with the bucket in the host. */
function keyOf(uri: string, bucket: string): string | undefined {
  if (!URL.canParse(uri)) return undefined;
  const { pathname, hostname } = new URL(uri);
  let path: string;
  try {
    path = decodeURIComponent(pathname.slice(1));
  } catch {
    return undefined;
  }
  if (path.split('/').some((segment) => segment === '.' || segment === '..')) return undefined;
  const inBucket = `${bucket}/`;
  if (path.startsWith(inBucket)) return path.slice(inBucket.length);
  return hostname.startsWith(`${bucket}.`) ? path : undefined;
}

/** The hint follows the metadata, so it may be behind them. */
async function newestMetadata(
  store: ObjectStore,
  bucket: string,
  folder: string,
): Promise<{ readonly key: string; readonly json: string } | undefined> {
  const hint = Number((await readText(store, bucket, hintKey(folder))) ?? 1);
  let found: { key: string; json: string } | undefined;
  for (let version = hint; ; version++) {
    const key = metadataKey(folder, version);
    const json = await readText(store, bucket, key);
    if (json === undefined) return found;
    found = { key, json };
  }
}

async function readText(store: ObjectStore, bucket: string, key: string): Promise<string | undefined> {
  const stat = await store.stat(bucket, key);
  if (!stat) return undefined;
  if (stat.size > MAX_METADATA_BYTES)
    throw new PublicError('unavailable', `Reading the table failed: ${key} is larger than 16 MiB`);
  const bytes: Readable = await store.get(bucket, key);
  return (await buffer(bytes)).toString('utf8');
}
