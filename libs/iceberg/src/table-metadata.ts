import type { TableShape } from './manifest.js';
import { DAY_FIELD_ID, elementId, renderNameMapping, renderPartitionFields, renderSchema } from './schema.js';

/** Snapshots that the metadata keep; the files of all of them stay in the table. */
const KEPT_SNAPSHOTS = 100;

/** A state of a table, as its metadata have it. */
interface SnapshotJson {
  readonly 'snapshot-id': number;
  readonly 'sequence-number': number;
  readonly 'timestamp-ms': number;
  readonly 'manifest-list': string;
  readonly summary: Readonly<Record<string, string>>;
}

/** The members of a table's metadata that the next state is made of. */
export interface TableMetadata {
  readonly 'table-uuid': string;
  readonly 'last-sequence-number': number;
  readonly snapshots: readonly SnapshotJson[];
}

/** Files that a snapshot adds. */
export interface AddedSnapshot {
  /** `overwrite`: they are all files of the table; absent: those of the former snapshot stay. */
  readonly operation?: 'overwrite';
  readonly snapshotId: number;
  readonly at: Date;
  readonly manifestList: string;
  readonly files: number;
  readonly rows: number;
  readonly bytes: number;
  /** Further members of its summary. */
  readonly about: Readonly<Record<string, string>>;
}

/** The current snapshot of a table. */
export function currentSnapshot({ snapshots }: TableMetadata): SnapshotJson | undefined {
  return snapshots.at(-1);
}

/**
 * Metadata of a table (format version 2) after one more snapshot.
 * @param location folder of the table, `s3://bucket/prefix`
 * @param former its metadata before; absent: the table begins
 */
export function renderTableMetadata(
  { tableId, columns, dayOf, comment }: TableShape,
  location: string,
  added: AddedSnapshot,
  former: TableMetadata | undefined,
): string {
  const sequenceNumber = (former?.['last-sequence-number'] ?? 0) + 1;
  const { operation = 'append' } = added;
  const before = former && currentSnapshot(former);
  const total = (name: string, more: number): string => String(Number(before?.summary[name] ?? 0) + more);
  const snapshot = {
    'snapshot-id': added.snapshotId,
    'parent-snapshot-id': before?.['snapshot-id'],
    'sequence-number': sequenceNumber,
    'timestamp-ms': Math.max(added.at.getTime(), (before?.['timestamp-ms'] ?? 0) + 1),
    'manifest-list': added.manifestList,
    'schema-id': 0,
    summary: {
      operation,
      ...(operation === 'append'
        ? {
            'added-data-files': String(added.files),
            'added-records': String(added.rows),
            'added-files-size': String(added.bytes),
          }
        : {}),
      'total-data-files': total('total-data-files', added.files),
      'total-records': total('total-records', added.rows),
      'total-files-size': total('total-files-size', added.bytes),
      'total-delete-files': '0',
      'total-position-deletes': '0',
      'total-equality-deletes': '0',
      ...added.about,
    },
  };
  const snapshots = [...(former?.snapshots ?? []), snapshot].slice(-KEPT_SNAPSHOTS);
  const metadata = {
    'format-version': 2,
    'table-uuid': tableId,
    location,
    'last-sequence-number': sequenceNumber,
    'last-updated-ms': snapshot['timestamp-ms'],
    'last-column-id': Math.max(...columns.map((column) => elementId(column))),
    'current-schema-id': 0,
    schemas: [renderSchema(columns)],
    'default-spec-id': 0,
    'partition-specs': [{ 'spec-id': 0, fields: renderPartitionFields(dayOf) }],
    'last-partition-id': dayOf ? DAY_FIELD_ID : 999,
    'default-sort-order-id': 0,
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    properties: { 'schema.name-mapping.default': renderNameMapping(columns), comment },
    'current-snapshot-id': added.snapshotId,
    refs: { main: { 'snapshot-id': added.snapshotId, type: 'branch' } },
    snapshots,
    'snapshot-log': snapshots.map((one) => ({
      'snapshot-id': one['snapshot-id'],
      'timestamp-ms': one['timestamp-ms'],
    })),
    'metadata-log': [],
  };
  return `${JSON.stringify(metadata, undefined, 2)}\n`;
}

/** Key of a version of the metadata of the table in a folder. */
export function metadataKey(folder: string, version: number): string {
  return `${folder}/metadata/v${version}.metadata.json`;
}

/** Key of the text that names the newest version, or one before it. */
export function hintKey(folder: string): string {
  return `${folder}/metadata/version-hint.text`;
}
