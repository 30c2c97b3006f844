import { type BulkExportRunSpec, isUuid } from '#lib/resources';
import { formatInstant, type Instant } from '#lib/time';

/** Layout of an export in its bucket: `v1` as the interface first had it, `v2_beta` with folders that Hive understands. */
export type FormatVersion = 'v1' | 'v2_beta';

/** Parts of the keys of one partition; ids are uuids, so nothing in them can leave the prefix. */
export interface PartitionAddress {
  /** Prefix of the destination; slashes at its ends do not count. */
  readonly prefix: string;
  readonly exportId: string;
  readonly tenantId: string;
  readonly projectId: string;
  readonly formatVersion: FormatVersion;
  /** `YYYY-MM-DD`. */
  readonly day: string;
  /** Kind of the rows: each has a folder of its own. Manifests are of all together. */
  readonly resource?: 'runs' | 'feedback';
}

/** Format of an export's files. */
export type FileFormat = 'parquet' | 'jsonl';
export type FileCompression = 'none' | 'gzip' | 'snappy' | 'zstd';

/** The name of a file ends with it. Parquet names its compression itself. */
function suffixOf(format: FileFormat, compression: FileCompression): string {
  if (format === 'parquet') return 'parquet';
  switch (compression) {
    case 'none':
      return 'jsonl';
    case 'gzip':
      return 'jsonl.gz';
    case 'zstd':
      return 'jsonl.zst';
    case 'snappy':
      throw new Error('naming a file of lines failed: snappy is a compression of Parquet alone');
    default:
      return compression satisfies never;
  }
}

/** A partition and what its files are. */
export interface FileAddress extends PartitionAddress {
  readonly format: FileFormat;
  readonly compression: FileCompression;
}

/** Address of the files of a run of an export. */
export function addressOfRun(
  spec: BulkExportRunSpec,
  resource: PartitionAddress['resource'] = 'runs',
): FileAddress {
  const { exportId, tenantId, projectId, formatVersion, format, compression, startTime, destination } = spec;
  const prefix = destination.config.prefix ?? '';
  const day = startTime.slice(0, 10);
  return { prefix, exportId, tenantId, projectId, formatVersion, format, compression, day, resource };
}

/** Object stores take keys of 1,024 bytes; the longest that an export adds to its prefix has 220. */
const MAX_PREFIX_BYTES = 800;
/**
 * Control and format characters, separators of lines, halves of characters, and what URLs and the guidelines of object
 * stores leave out. Everything else comes back from stores as it was sent, in keys, lists and signatures.
 */
const REFUSED = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}"<>\\^`{|}]/u;
/** It would have another meaning where something between here and the store decodes it once more. */
const ESCAPE = /%[0-9A-Fa-f]{2}/;

/**
 * Reason why a prefix cannot be used, or undefined when it can. `.` and `..` as segments, doubled slashes,
 * backslashes and escapes are refused, because a proxy or a client somewhere resolves them; blanks at the
 * ends of a segment, because they get lost where keys are written down.
 */
export function checkPrefix(prefix: string): string | undefined {
  if (Buffer.byteLength(prefix) > MAX_PREFIX_BYTES)
    return `must be at most ${MAX_PREFIX_BYTES} bytes long: object stores take keys of 1,024 bytes, and an export adds up to 220; give a shorter one`;
  if (REFUSED.test(prefix))
    return 'must not contain control or format characters or any of " < > \\ ^ ` { | }';
  if (ESCAPE.test(prefix)) return 'must not contain a % before two hexadecimal digits';
  const segments = trimmed(prefix).split('/');
  if (prefix !== '' && trimmed(prefix) !== '' && segments.includes(''))
    return 'must not contain empty segments';
  if (segments.includes('.') || segments.includes('..')) return 'must not contain the segments . or ..';
  if (segments.some((segment) => segment !== segment.trim()))
    return 'must not contain segments that begin or end with a space';
  return undefined;
}

function trimmed(prefix: string): string {
  return prefix.replace(/^\/+|\/+$/g, '');
}

function joined(prefix: string, rest: string): string {
  const problem = checkPrefix(prefix);
  if (problem !== undefined) throw new Error(`the prefix ${problem}`);
  const start = trimmed(prefix);
  return start === '' ? rest : `${start}/${rest}`;
}

/** The folder of one partition, ending with a slash. Month and day carry no leading zero, as in the interface. */
export function partitionFolder(address: PartitionAddress): string {
  checkIds(address);
  const [year, month, day] = address.day.split('-').map(Number);
  const { resource = 'runs' } = address;
  const folder = address.formatVersion === 'v2_beta' ? `resource=${resource}` : resource;
  return joined(
    address.prefix,
    `export_id=${address.exportId}/tenant_id=${address.tenantId}/session_id=${address.projectId}/` +
      `${folder}/year=${year}/month=${month}/day=${day}/`,
  );
}

function checkIds({ exportId, tenantId, projectId }: PartitionAddress): void {
  checkUuids([exportId, tenantId, projectId]);
}

function checkUuids(ids: readonly string[]): void {
  for (const id of ids)
    if (!isUuid(id)) throw new Error(`an id in an object key must be a uuid, but is ${JSON.stringify(id)}`);
}

/** The key of the `number`th file of a partition, counted from 1; the same number is always the same key. */
export function partKey(address: FileAddress, number: number): string {
  const suffix = suffixOf(address.format, address.compression);
  return `${partitionFolder(address)}part-${String(number).padStart(5, '0')}.${suffix}`;
}

/**
 * Written last: its readers see exactly the files that belong to the partition. It is outside of the folders
 * with files, because some readers of a folder refuse any other file in it.
 */
export function manifestKey(address: PartitionAddress): string {
  checkIds(address);
  return joined(address.prefix, `manifests/export_id=${address.exportId}/runs/${address.day}.json`);
}

/** The manifest of a whole export, written after those of all of its days: a reader waits for this key alone. */
export function exportManifestKey(prefix: string, exportId: string): string {
  checkUuids([exportId]);
  return joined(prefix, `manifests/export_id=${exportId}/export.json`);
}

/** Another key of the same for the window of a schedule, which is known before its export is made. */
export function windowManifestKey(prefix: string, scheduleId: string, start: Instant): string {
  checkUuids([scheduleId]);
  const name = formatInstant(start, 'if-any').replaceAll(/[-:]/g, '');
  return joined(prefix, `manifests/schedule=${scheduleId}/${name}.json`);
}

/**
 * Folder of the table over the files of an export, or of all windows of a schedule; without a slash at its end.
 * @param resource of its rows
 */
export function tableFolder(
  prefix: string,
  of: { readonly exportId: string } | { readonly scheduleId: string },
  resource: NonNullable<PartitionAddress['resource']>,
): string {
  const [name, id] = 'scheduleId' in of ? ['schedule', of.scheduleId] : ['export_id', of.exportId];
  checkUuids([id]);
  return joined(prefix, `tables/${name}=${id}/${resource}`);
}

/** Key of the object with which a destination is tested; the folder is the interface's. */
export function testObjectKey(prefix: string, id: string): string {
  return joined(prefix, `tmp/${id}.txt`);
}
