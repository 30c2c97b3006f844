import { join } from 'node:path';
import { S3Error } from './s3-error.js';

/**
 * Keys become paths that a person can read and other programs can open: `a=1/part.parquet` is the file of
 * that name. Characters that could mean something to a file system are percent-encoded (with upper-case
 * digits), so no key leaves its bucket's folder. Three lower-case marks cannot come from encoding: `%e` is
 * the empty segment (`dir/`), `NAME%d` a folder beside an object of the same name, `NAME%o` an object beside
 * a folder of the same name.
 *
 * File systems that ignore case (macOS by default) cannot hold two keys that differ only in case.
 */
const EMPTY = '%e';
const FOLDER_MARK = '%d';
const OBJECT_MARK = '%o';
/** The usual limit is 255 bytes; two are for a mark. */
const MAX_SEGMENT_BYTES = 250;

function encodeSegment(segment: string): string {
  if (segment === '') return EMPTY;
  const encoded = encodeURIComponent(segment)
    .replace(/%(20|3D|2B|2C|40|3A)/g, (found) => decodeURIComponent(found))
    .replace(/\*/g, '%2A')
    .replace(/^\./, '%2E');
  if (encoded.length > MAX_SEGMENT_BYTES)
    throw new S3Error('KeyTooLongError', `A segment of the key is longer than ${MAX_SEGMENT_BYTES} bytes.`);
  return encoded;
}

/** Names of folders and file for a key. @throws S3Error (KeyTooLongError) */
export function keySegments(key: string): string[] {
  return key.split('/').map(encodeSegment);
}

/**
 * The segment that a folder or a file represents, without mark. Undefined for files that are not the store's.
 */
export function segmentOf(name: string): string | undefined {
  const plain = name.endsWith(FOLDER_MARK) || name.endsWith(OBJECT_MARK) ? name.slice(0, -2) : name;
  if (plain === EMPTY) return '';
  try {
    return decodeURIComponent(plain);
  } catch {
    return undefined;
  }
}

/** Possible paths of a segment's folder, usual place first. */
export function folderCandidates(parent: string, segment: string): [string, string] {
  return [join(parent, segment), join(parent, segment + FOLDER_MARK)];
}

/** Possible paths of a segment's object, usual place first. */
export function objectCandidates(parent: string, segment: string): [string, string] {
  return [join(parent, segment), join(parent, segment + OBJECT_MARK)];
}
