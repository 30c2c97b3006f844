import { createHash } from 'node:crypto';
import { TerminalError } from '#lib/errors';
import { tableFolder } from '#lib/export-plan';
import {
  currentSnapshot,
  type DataFile,
  hintKey,
  metadataKey,
  renderManifest,
  renderManifestList,
  renderTableMetadata,
  type TableMetadata,
  type TableShape,
} from '#lib/iceberg';
import { type ObjectStore, ObjectStoreError, readObject } from '#lib/object-store';
import { REASON } from '#lib/resources';
import { type ExportColumn, type ExportFile, type ExportResource, tableColumns } from '#lib/trace-store';
import type { ExportTask } from './export-task.js';
import { isWanted } from './write-part.js';

/** Limit of metadata and of a list of manifests. */
const MAX_READ_BYTES = 64 * 1_048_576;

/** Tools for writing the metadata of tables. */
export interface TableTools {
  readonly store: ObjectStore;
  readonly now: () => Date;
  /** Throws unless the attempt is in force. */
  readonly confirm: () => Promise<void>;
}

/** A table in the bucket. */
interface Place {
  readonly bucket: string;
  /** Key of its folder. */
  readonly folder: string;
}

/**
 * Adds the files of a whole export to its table, or to that of the schedule that made it, as one snapshot: a manifest, a
 * list of all manifests, and metadata whose key may not exist yet. Killed at any point and repeated it adds them once: the
 * manifest has the name of the export, and a list that names it has the export.
 * @param columns all columns of the resource's files
 * @throws TerminalError when the list of the table's manifests is missing, ObjectStoreError when the key may not read it
 */
export async function addToTable(
  task: ExportTask,
  resource: ExportResource,
  columns: readonly ExportColumn[],
  files: readonly ExportFile[],
  tools: TableTools,
): Promise<void> {
  const { spec, bucket } = task;
  const { exportId, exportWindow } = spec;
  const scheduleId = exportWindow?.scheduleId;
  const of = scheduleId === undefined ? { exportId } : { scheduleId };
  const place = { bucket, folder: tableFolder(spec.destination.config.prefix ?? '', of, resource) };
  const shape = shapeOf(task, resource, columns, scheduleId ?? exportId);
  const added = files.map((file) => dataFileOf(bucket, file));
  const snapshotId = Number(BigInt(`0x${hashOf(exportId, resource).slice(0, 13)}`) + 1n);
  const manifest = renderManifest(shape, snapshotId, added);
  const manifestKey = `${place.folder}/metadata/${exportId}-m0.avro`;
  await tools.confirm();
  await tools.store.put(bucket, manifestKey, manifest);
  for (
    let former = await readTable(place, tools.store);
    ;
    former = await readTable(place, tools.store, former.version)
  ) {
    // an attempt that was killed in between has left the hint behind
    if (former.list?.includes(manifestKey)) return pointTo(place, former.version, tools.store);
    const version = former.version + 1;
    const sequenceNumber = (former.metadata?.['last-sequence-number'] ?? 0) + 1;
    const path = urlOf(bucket, manifestKey);
    const written = { path, length: manifest.length, snapshotId, sequenceNumber, files: added };
    const listKey = `${place.folder}/metadata/snap-${version}-${exportId}.avro`;
    await tools.store.put(
      bucket,
      listKey,
      renderManifestList(shape, { snapshotId, sequenceNumber, manifests: [written], former: former.list }),
    );
    const sum = (number: (file: DataFile) => number): number =>
      added.reduce((all, file) => all + number(file), 0);
    const metadata = renderTableMetadata(
      shape,
      urlOf(bucket, place.folder),
      {
        snapshotId,
        at: tools.now(),
        manifestList: urlOf(bucket, listKey),
        files: added.length,
        rows: sum(({ rows }) => rows),
        bytes: sum(({ bytes }) => bytes),
        about: { 'agentplane.export-id': exportId },
      },
      former.metadata,
    );
    await tools.confirm();
    if (!(await isFirst(tools.store, bucket, metadataKey(place.folder, version), metadata))) continue;
    return pointTo(place, version, tools.store);
  }
}

/** Readers without a catalogue begin at the version that the hint names. */
async function pointTo(place: Place, version: number, store: ObjectStore): Promise<void> {
  await store.put(place.bucket, hintKey(place.folder), String(version));
}

/** True when this object was written; false when another writer of the table was faster. */
async function isFirst(store: ObjectStore, bucket: string, key: string, content: string): Promise<boolean> {
  try {
    await store.put(bucket, key, content, { contentType: 'application/json', onlyIfAbsent: true });
    return true;
  } catch (error) {
    if (error instanceof ObjectStoreError && error.code === 'PreconditionFailed') return false;
    throw error;
  }
}

interface ReadTable {
  /** 0 for a table that does not exist. */
  readonly version: number;
  readonly metadata?: TableMetadata;
  /** The list of its manifests. */
  readonly list?: Buffer;
}

/** The newest state of a table. @param least a version that it has */
async function readTable(place: Place, store: ObjectStore, least = 0): Promise<ReadTable> {
  const { bucket } = place;
  const hint = Number((await readText(store, bucket, hintKey(place.folder))) ?? 0);
  // the hint follows the metadata, so it may be behind them
  let found: { version: number; content: string } | undefined;
  for (let version = Math.max(hint, least, 1); ; version++) {
    const content = await readText(store, bucket, metadataKey(place.folder, version));
    if (content === undefined) break;
    found = { version, content };
  }
  if (!found) return { version: 0 };
  const metadata = JSON.parse(found.content) as TableMetadata;
  const listUrl = currentSnapshot(metadata)?.['manifest-list'] ?? '';
  const list = await readBytes(store, bucket, listUrl.slice(urlOf(bucket, '').length));
  if (list === undefined)
    throw new TerminalError(
      REASON.invalidSpec,
      `adding to the table ${urlOf(bucket, place.folder)} failed: ${listUrl} does not exist; delete the folder to begin the table anew`,
    );
  return { version: found.version, metadata, list };
}

const readBytes = (store: ObjectStore, bucket: string, key: string): Promise<Buffer | undefined> =>
  readObject(store, bucket, key, MAX_READ_BYTES);

async function readText(store: ObjectStore, bucket: string, key: string): Promise<string | undefined> {
  return (await readBytes(store, bucket, key))?.toString('utf8');
}

const urlOf = (bucket: string, key: string): string => `s3://${bucket}/${key}`;
const hashOf = (id: string, resource: ExportResource): string =>
  createHash('sha256').update(`${resource} of ${id}`).digest('hex');

/** A uuid that is the same each time, since the tables of runs and of feedback need one each. */
function tableIdOf(id: string, resource: ExportResource): string {
  const hash = hashOf(id, resource);
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}

function shapeOf(
  { spec }: ExportTask,
  resource: ExportResource,
  all: readonly ExportColumn[],
  id: string,
): TableShape {
  const wanted = resource === 'runs' ? spec.exportFields : undefined;
  const written = all.filter(({ name }) => isWanted(name, wanted));
  const columns = tableColumns(written, resource, spec.formatVersion);
  return {
    tableId: tableIdOf(id, resource),
    columns,
    dayOf: columns.find(({ name }) => name === 'start_time'),
  };
}

function dataFileOf(bucket: string, { key, rows, bytes, minStartTime, maxStartTime }: ExportFile): DataFile {
  const [, year, month, day] = /\/year=(\d+)\/month=(\d+)\/day=(\d+)\//.exec(key) ?? [];
  const bounds =
    minStartTime === undefined || maxStartTime === undefined
      ? {}
      : { bounds: { min: minStartTime, max: maxStartTime } };
  const two = (part = ''): string => part.padStart(2, '0');
  return { path: urlOf(bucket, key), rows, bytes, day: `${year}-${two(month)}-${two(day)}`, ...bounds };
}
