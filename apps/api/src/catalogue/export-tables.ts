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
import type { Clock } from '#lib/time';
import type { Homes } from '../kubernetes/secret-home.js';
import type { Workspaces } from '../tenancy/workspaces.js';
import {
  type Account,
  askStore,
  type LoadedTable,
  readMetadata,
  signRead,
  type StoreRequest,
  type TableBucket,
} from './table-objects.js';

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

const MAX_HINT_BYTES = 1_024;
/** Time limit of one use of a store, which may answer slowly or have a next version of a table without end. */
const LONGEST_MS = 30_000;

/** Tables of Iceberg in the buckets of a workspace, found by the exports that write them. */
export class ExportTables {
  constructor(
    private readonly homes: Pick<Homes, 'exports' | 'destinations' | 'secrets'>,
    private readonly workspaces: Pick<Workspaces, 'homeOf'>,
    private readonly allowPrivateEndpoints: boolean,
    private readonly clock: Pick<Clock, 'after'>,
  ) {}

  /** Tables that have been written. */
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
      );
  }

  /** @throws PublicError not_found, unavailable, too_many */
  async load({ tenantId }: Caller, table: ExportTable, account: Account): Promise<LoadedTable> {
    const destination = this.#destinationOf(table.source);
    const { bucketName, endpointUrl, region, includeBucketInPrefix } = destination.spec.config;
    const folder = folderOf(table, destination);
    const { location, json } = await readMetadata(this.#bucketOf(tenantId, destination), account, (store) =>
      newestKey(store, bucketName, folder),
    );
    if (json === undefined)
      throw new PublicError(
        'not_found',
        `Table does not exist: s3://${bucketName}/${folder} has no metadata`,
      );
    const isBucketInPath = endpointUrl !== undefined && includeBucketInPrefix;
    return {
      location,
      json,
      store: { endpoint: endpointUrl, region: region ?? 'us-east-1', isBucketInPath },
      signer: `sign/${idOf(table.source)}`,
    };
  }

  /**
   * URL with which one object of the table can be read for ten minutes, by the credentials of the destination.
   * @throws PublicError not_found; forbidden for an object that is none of the table's
   */
  async sign(caller: Caller, exportId: string, request: StoreRequest): Promise<string> {
    const { namespace } = this.workspaces.homeOf(caller.tenantId);
    const source = this.homes.exports.find(namespace, exportId);
    if (source?.spec.table !== 'iceberg') throw new PublicError('not_found', 'There is no such table');
    const destination = this.#destinationOf(source);
    return await signRead(this.#bucketOf(caller.tenantId, destination), request, (key) =>
      this.#isOfTable(source, destination, key),
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

  #bucketOf(tenantId: string, destination: BulkExportDestination): TableBucket {
    return {
      bucket: destination.spec.config.bucketName,
      ask: (work) => this.#inStore(tenantId, destination, work),
    };
  }

  async #inStore<T>(
    tenantId: string,
    destination: BulkExportDestination,
    work: (store: ObjectStore) => Promise<T>,
  ): Promise<T> {
    // loaded when it is needed: the client takes 20 MB
    const { destinationSettings, keysOfSecret, openObjectStore, usedWithin } =
      await import('#lib/object-store');
    const { config, credentialsSecretRef } = destination.spec;
    const { namespace = '' } = destination.metadata;
    const secret = credentialsSecretRef
      ? await this.homes.secrets.values({ namespace, name: credentialsSecretRef.name })
      : undefined;
    const keys = keysOfSecret(secret, this.workspaces.homeOf(tenantId).allowsEnvironmentCredentials);
    const { allowPrivateEndpoints, clock } = this;
    return await askStore('the table', async () => {
      const store = openObjectStore({
        ...destinationSettings(config, keys, tenantId),
        allowPrivateEndpoints,
      });
      return await usedWithin(LONGEST_MS, clock, store, work);
    });
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

/** Key of the newest metadata. The hint follows them, so it may be behind. */
async function newestKey(store: ObjectStore, bucket: string, folder: string): Promise<string> {
  const { readObject } = await import('#lib/object-store');
  const hint = await readObject(store, bucket, hintKey(folder), MAX_HINT_BYTES);
  let version = Number(hint?.toString() ?? 1);
  while (await store.stat(bucket, metadataKey(folder, version + 1))) version++;
  return metadataKey(folder, version);
}
