/**
 * Actions that a grant allows a user of the store on its keys. `write` is everything that an upload needs:
 * put, the parts of a multipart upload, listing, completing and aborting such uploads. `stat` is `HEAD`
 * alone, `read` is `GET` as well. `manage` makes and removes buckets.
 */
const STORE_ACTIONS = ['write', 'stat', 'read', 'list', 'delete', 'manage'] as const;
export type StoreAction = (typeof STORE_ACTIONS)[number];

/** Rights for a bucket or a folder of it. */
export interface StoreGrant {
  /** `*` is every bucket. */
  readonly bucket: string;
  /** A folder: `a/b` covers `a/b/c` and not `a/bc`. Empty is the whole bucket. */
  readonly prefix: string;
  readonly actions: readonly StoreAction[];
}

/** A user of the store and its grants. */
export interface StoreUser {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly grants: readonly StoreGrant[];
}

/** The users of a store, looked up at every request. */
export interface StoreUsers {
  find(accessKeyId: string): StoreUser | undefined;
}

/** A user who may do everything. */
export function unrestrictedUser(keys: Pick<StoreUser, 'accessKeyId' | 'secretAccessKey'>): StoreUser {
  return { ...keys, grants: [{ bucket: '*', prefix: '', actions: STORE_ACTIONS }] };
}

/** Access that a request needs. */
export interface StoreAccess {
  readonly bucket: string;
  readonly action: StoreAction;
  /** A key, or the prefix of a list: empty means all of the bucket. */
  readonly target: string;
}

/**
 * True when a user has the access. Keys are compared as they are stored: `..` is a name like any other in an
 * object store.
 */
export function mayAccess({ grants }: StoreUser, { bucket, action, target }: StoreAccess): boolean {
  return grants.some(
    (grant) =>
      (grant.bucket === '*' || grant.bucket === bucket) &&
      grant.actions.some((one) => one === action || (one === 'read' && action === 'stat')) &&
      target.startsWith(folderOf(grant.prefix)),
  );
}

/** True when a user has any right in a bucket; `*` stands for the store itself. */
export function knowsBucket({ grants }: StoreUser, bucket: string): boolean {
  return grants.some((grant) => grant.bucket === '*' || grant.bucket === bucket);
}

function folderOf(prefix: string): string {
  return prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`;
}
