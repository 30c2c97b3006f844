import { AvroWriter, blocksOf, renderAvroFile } from './avro.js';
import { DAY_FIELD_ID, type IcebergColumn, renderPartitionFields, renderSchema } from './schema.js';

const DAY_MS = 86_400_000;

/** A Parquet file of a table. */
export interface DataFile {
  /** Absolute: `s3://bucket/key`. */
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
  /** UTC day of all rows, `YYYY-MM-DD`. */
  readonly day: string;
  /** Smallest and largest value of the column whose day is the partition, in microseconds since 1970. */
  readonly bounds?: { readonly min: bigint; readonly max: bigint };
}

/** Identity and columns of a table, which its files repeat. */
export interface TableShape {
  /** Uuid. */
  readonly tableId: string;
  readonly columns: readonly IcebergColumn[];
  /** Column whose day is the partition; absent: the table is not partitioned. */
  readonly dayOf?: IcebergColumn | undefined;
  /** Sentences for people who find the table. */
  readonly comment?: string;
}

/** A manifest that was written, as a manifest list names it. */
export interface WrittenManifest {
  readonly path: string;
  readonly length: number;
  readonly snapshotId: number;
  readonly sequenceNumber: number;
  readonly files: readonly DataFile[];
}

const field = (id: number, name: string, type: unknown): object =>
  Array.isArray(type) ? { name, type, default: null, 'field-id': id } : { name, type, 'field-id': id };

function entrySchema({ dayOf }: TableShape): object {
  const day = ['null', { type: 'int', logicalType: 'date' }];
  const partition = dayOf ? [field(DAY_FIELD_ID, `${dayOf.name}_day`, day)] : [];
  const bounds = (key: number, value: number): unknown => [
    'null',
    {
      type: 'array',
      logicalType: 'map',
      items: {
        type: 'record',
        name: `k${key}_v${value}`,
        fields: [field(key, 'key', 'int'), field(value, 'value', 'bytes')],
      },
    },
  ];
  const file = [
    field(134, 'content', 'int'),
    field(100, 'file_path', 'string'),
    field(101, 'file_format', 'string'),
    field(102, 'partition', { type: 'record', name: 'r102', fields: partition }),
    field(103, 'record_count', 'long'),
    field(104, 'file_size_in_bytes', 'long'),
    field(125, 'lower_bounds', bounds(126, 127)),
    field(128, 'upper_bounds', bounds(129, 130)),
  ];
  return {
    type: 'record',
    name: 'manifest_entry',
    fields: [
      field(0, 'status', 'int'),
      field(1, 'snapshot_id', ['null', 'long']),
      field(3, 'sequence_number', ['null', 'long']),
      field(4, 'file_sequence_number', ['null', 'long']),
      field(2, 'data_file', { type: 'record', name: 'r2', fields: file }),
    ],
  };
}

function daysOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`) / DAY_MS;
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(value);
  return bytes;
}

/** The manifest of files that one snapshot adds; their sequence numbers are those of the snapshot. */
export function renderManifest(shape: TableShape, snapshotId: number, files: readonly DataFile[]): Buffer {
  const { columns, dayOf, tableId } = shape;
  const objects = files.map(({ path, rows, bytes, day, bounds }) => {
    const entry = new AvroWriter();
    const bound = (value: bigint | undefined): void =>
      void entry.optional(dayOf && value !== undefined ? value : undefined, (known) =>
        entry.list([known], (one) => entry.long(dayOf?.fieldId ?? 0).bytes(int64(one))),
      );
    const ADDED = 1;
    entry.long(ADDED).long(1).long(snapshotId).long(0).long(0);
    entry.long(0).text(path).text('PARQUET');
    if (dayOf) entry.long(1).long(daysOf(day));
    entry.long(rows).long(bytes);
    bound(bounds?.min);
    bound(bounds?.max);
    return entry.whole();
  });
  return renderAvroFile({
    schema: entrySchema(shape),
    metadata: {
      schema: JSON.stringify(renderSchema(columns)),
      'schema-id': '0',
      'partition-spec': JSON.stringify(renderPartitionFields(dayOf)),
      'partition-spec-id': '0',
      'format-version': '2',
      content: 'data',
    },
    objects,
    syncOf: tableId,
  });
}

const MANIFEST_FILE = {
  type: 'record',
  name: 'manifest_file',
  fields: [
    field(500, 'manifest_path', 'string'),
    field(501, 'manifest_length', 'long'),
    field(502, 'partition_spec_id', 'int'),
    field(517, 'content', 'int'),
    field(515, 'sequence_number', 'long'),
    field(516, 'min_sequence_number', 'long'),
    field(503, 'added_snapshot_id', 'long'),
    field(504, 'added_files_count', 'int'),
    field(505, 'existing_files_count', 'int'),
    field(506, 'deleted_files_count', 'int'),
    field(512, 'added_rows_count', 'long'),
    field(513, 'existing_rows_count', 'long'),
    field(514, 'deleted_rows_count', 'long'),
    field(507, 'partitions', [
      'null',
      {
        type: 'array',
        'element-id': 508,
        items: {
          type: 'record',
          name: 'r508',
          fields: [
            field(509, 'contains_null', 'boolean'),
            field(510, 'lower_bound', ['null', 'bytes']),
            field(511, 'upper_bound', ['null', 'bytes']),
          ],
        },
      },
    ]),
  ],
};

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

/** Manifests of a snapshot. */
export interface ListedManifests {
  readonly snapshotId: number;
  readonly sequenceNumber: number;
  readonly manifests: readonly WrittenManifest[];
  /** The former list, whose manifests are taken over as they are and come first. */
  readonly former?: Buffer | undefined;
}

function listEntry({ dayOf }: TableShape, manifest: WrittenManifest): Buffer {
  const { path, length, snapshotId, sequenceNumber, files } = manifest;
  const days = files.map(({ day }) => daysOf(day)).sort((a, b) => a - b);
  const [first, last] = [days[0], days.at(-1)];
  const object = new AvroWriter();
  object.text(path).long(length).long(0).long(0).long(sequenceNumber).long(sequenceNumber).long(snapshotId);
  object.long(files.length).long(0).long(0);
  object
    .long(files.reduce((sum, { rows }) => sum + rows, 0))
    .long(0)
    .long(0);
  object.optional(dayOf, () =>
    object.list([0], () => {
      object.boolean(false);
      object.optional(first, (day) => object.bytes(int32(day)));
      object.optional(last, (day) => object.bytes(int32(day)));
    }),
  );
  return object.whole();
}

/** The list of all manifests of a snapshot. */
export function renderManifestList(shape: TableShape, listed: ListedManifests): Buffer {
  const { snapshotId, sequenceNumber, manifests, former } = listed;
  return renderAvroFile({
    schema: MANIFEST_FILE,
    metadata: {
      'snapshot-id': String(snapshotId),
      'sequence-number': String(sequenceNumber),
      'format-version': '2',
    },
    objects: manifests.map((manifest) => listEntry(shape, manifest)),
    syncOf: shape.tableId,
    ...(former ? { former: blocksOf(former, shape.tableId) } : {}),
  });
}
