import { S3Error } from '../s3-error.js';
import type { S3Request } from '../s3-request.js';
import { knowsBucket, mayAccess, type StoreAction, type StoreUser } from './store-user.js';

/**
 * Rights that an operation needs:
 * - `key`, `prefix`: an action on the request's key, or on all keys with the prefix in its query
 * - `bucket`: an action on the whole bucket
 * - `store`: an action on every bucket
 * - `known`: any right in the bucket
 * - `each`: any right in the bucket, and checked for every key in the body
 */
export type StoreNeed =
  | { readonly of: 'key' | 'prefix' | 'bucket' | 'store'; readonly action: StoreAction }
  | { readonly of: 'known' | 'each' };

/**
 * Checks the rights of a user. It comes before the lookup of bucket, key and upload, so that their existence
 * cannot be probed.
 * @throws S3Error (AccessDenied)
 */
export function authorize(user: StoreUser, need: StoreNeed, request: S3Request): void {
  if (!isAllowed(user, need, request)) throw accessDenied();
}

export function accessDenied(): S3Error {
  return new S3Error('AccessDenied', 'Access Denied');
}

function isAllowed(user: StoreUser, need: StoreNeed, { bucket, key, query }: S3Request): boolean {
  switch (need.of) {
    case 'key':
      return mayAccess(user, { bucket, action: need.action, target: key });
    case 'prefix':
      return mayAccess(user, { bucket, action: need.action, target: query.get('prefix') ?? '' });
    case 'bucket':
      return mayAccess(user, { bucket, action: need.action, target: '' });
    case 'store':
      return user.grants.some(
        (grant) => grant.bucket === '*' && grant.prefix === '' && grant.actions.includes(need.action),
      );
    case 'known':
    case 'each':
      return knowsBucket(user, bucket);
    default:
      return need satisfies never;
  }
}
