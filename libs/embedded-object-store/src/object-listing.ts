import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { segmentOf } from './key-path.js';
import { isMissing } from './store-folder.js';

export interface ListingQuery {
  readonly prefix: string;
  readonly delimiter: string;
  /** Key after which keys and groups are listed. */
  readonly after: string;
  readonly maxKeys: number;
}

export interface Listing {
  readonly objects: readonly { readonly key: string; readonly path: string }[];
  /** Common prefixes up to and including the delimiter. */
  readonly groups: readonly string[];
  /** The last key or group of a page that is not the last page: `after` of the next. */
  readonly next?: string;
}

interface Entry {
  readonly key: string;
  readonly path: string;
  readonly isFolder: boolean;
  readonly order: Buffer;
}

/** Set by the consumer while it reads: keys with this prefix are skipped from now on. */
interface Skip {
  prefix?: string;
}

/** S3 orders keys by their UTF-8 bytes. */
function isAfter(left: string, right: string): boolean {
  return Buffer.compare(Buffer.from(left), Buffer.from(right)) > 0;
}

async function entriesOf(folder: string, keyPrefix: string): Promise<Entry[]> {
  const found = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return []; // emptied and removed since it was seen
    throw error;
  });
  const entries: Entry[] = [];
  for (const entry of found) {
    const segment = segmentOf(entry.name);
    if (segment === undefined || !(entry.isDirectory() || entry.isFile())) continue;
    const isFolder = entry.isDirectory();
    const key = keyPrefix + segment + (isFolder ? '/' : '');
    entries.push({ key, path: join(folder, entry.name), isFolder, order: Buffer.from(key) });
  }
  return entries.sort((a, b) => Buffer.compare(a.order, b.order));
}

async function* walk(
  folder: string,
  keyPrefix: string,
  query: ListingQuery,
  skip: Skip,
): AsyncGenerator<{ key: string; path: string }> {
  const { prefix, after } = query;
  for (const { key, path, isFolder } of await entriesOf(folder, keyPrefix)) {
    if (skip.prefix !== undefined && key.startsWith(skip.prefix)) continue;
    if (!isFolder) {
      if (key.startsWith(prefix) && isAfter(key, after)) yield { key, path };
      continue;
    }
    const mayMatch = key.startsWith(prefix) || prefix.startsWith(key);
    if (mayMatch && (after.startsWith(key) || isAfter(key, after))) yield* walk(path, key, query, skip);
  }
}

/** One page of a bucket's keys, in order; folders that cannot match are not opened. */
export async function listObjects(bucketPath: string, query: ListingQuery): Promise<Listing> {
  const objects: { key: string; path: string }[] = [];
  const groups: string[] = [];
  const skip: Skip = {};
  let last = '';
  for await (const { key, path } of walk(bucketPath, '', query, skip)) {
    const cut = query.delimiter === '' ? -1 : key.indexOf(query.delimiter, query.prefix.length);
    const group = cut < 0 ? undefined : key.slice(0, cut + query.delimiter.length);
    // the rest of a group that an earlier page has named
    if (group !== undefined && !isAfter(group, query.after)) {
      skip.prefix = group;
      continue;
    }
    if (objects.length + groups.length >= query.maxKeys) return { objects, groups, next: last };
    if (group === undefined) objects.push({ key, path });
    else {
      groups.push(group);
      skip.prefix = group;
    }
    last = group ?? key;
  }
  return { objects, groups };
}
