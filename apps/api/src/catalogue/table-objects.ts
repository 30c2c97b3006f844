import type { Place } from '#lib/admission';
import { PublicError } from '#lib/errors';
import type { ObjectStore } from '#lib/object-store';

const MAX_METADATA_BYTES = 16 * 1_048_576;
const SIGNED_FOR_SECONDS = 600;

/** Memory that the answer about a table counts for. */
export type Account = Pick<Place, 'hold' | 'keep'>;

/** Bucket of a table, for the client that reads its files. */
export interface TableStore {
  readonly endpoint: string | undefined;
  readonly region: string;
  /** False where the host of the endpoint names the bucket. */
  readonly isBucketInPath: boolean;
}

/** Newest metadata of a table. */
export interface LoadedTable {
  /** URL of the metadata in the bucket. */
  readonly location: string;
  /** The metadata as they were written. */
  readonly json: string;
  readonly store: TableStore;
  /** Path below `/iceberg/v1/` at which reads of its objects are signed. */
  readonly signer: string;
}

/** The request that a client would make of a store. */
export interface StoreRequest {
  readonly method: string;
  readonly uri: string;
}

/** Bucket of a table, and uses of its store. */
export interface TableBucket {
  readonly bucket: string;
  /** @throws PublicError unavailable */
  readonly ask: <T>(work: (store: ObjectStore) => Promise<T>) => Promise<T>;
}

/** Key of the object that a request names, in the path or with the bucket in the host. */
function keyOf(uri: string, bucket: string): string | undefined {
  if (!URL.canParse(uri)) return undefined;
  const { pathname, hostname } = new URL(uri);
  // stores take it for a slash, or for a letter of the name
  if (/%2f/i.test(pathname)) return undefined;
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

/**
 * URL that performs the read that a request asks for, for ten minutes.
 * @throws PublicError forbidden for a write, and for an object that is none of the table's; unavailable
 */
export async function signRead(
  { bucket, ask }: TableBucket,
  { method, uri }: StoreRequest,
  isOfTable: (key: string) => boolean,
): Promise<string> {
  const key = keyOf(uri, bucket);
  if (key === undefined || (method !== 'GET' && method !== 'HEAD') || !isOfTable(key))
    throw new PublicError('forbidden', 'Only reads of files of the table are signed');
  return await ask((store) => store.presign(bucket, key, method, SIGNED_FOR_SECONDS));
}

/**
 * Metadata of a table, `json` undefined when they do not exist. Their bytes and their text are counted, before they are
 * read those of the largest.
 * @throws PublicError unavailable, also when they are too large; too_many
 */
export async function readMetadata(
  { bucket, ask }: TableBucket,
  account: Account,
  findKey: (store: ObjectStore) => Promise<string> | string,
): Promise<{ readonly location: string; readonly json: string | undefined }> {
  const { readObject } = await import('#lib/object-store');
  account.hold(2 * MAX_METADATA_BYTES);
  const found = await ask(async (store) => {
    const key = await findKey(store);
    const json = (await readObject(store, bucket, key, MAX_METADATA_BYTES))?.toString('utf8');
    return { location: `s3://${bucket}/${key}`, json };
  });
  account.keep(2 * (found.json?.length ?? 0));
  return found;
}

/** Asks a store. @param what the table, for people @throws PublicError unavailable when the store refuses or is away */
export async function askStore<T>(what: string, work: () => Promise<T>): Promise<T> {
  // loaded when it is needed: the client takes 20 MB
  const { ObjectStoreError } = await import('#lib/object-store');
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    const why = 'advice' in error ? String(error.advice) : error.message;
    throw new PublicError('unavailable', `Reading ${what} failed: ${why}`, [], { cause: error });
  }
}
