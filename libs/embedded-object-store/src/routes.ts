import * as bucket from './bucket-routes.js';
import * as copy from './copy-routes.js';
import type { Exchange } from './exchange.js';
import * as object from './object-routes.js';
import { S3Error } from './s3-error.js';
import type { S3Request } from './s3-request.js';
import * as upload from './upload-routes.js';
import type { StoreNeed } from './users/access.js';

type Handler = (exchange: Exchange) => Promise<void>;

interface Route {
  readonly about: 'store' | 'bucket' | 'object';
  readonly method: string;
  /** The words in the query that make this another operation. */
  readonly words: readonly string[];
  readonly handle: Handler;
  readonly needs: StoreNeed;
}

const WRITE = { of: 'key', action: 'write' } as const;
const READ = { of: 'key', action: 'read' } as const;
const STAT = { of: 'key', action: 'stat' } as const;
const MANAGE = { of: 'bucket', action: 'manage' } as const;

const ROUTES: readonly Route[] = [
  {
    about: 'store',
    method: 'GET',
    words: [],
    handle: bucket.listBuckets,
    needs: { of: 'store', action: 'list' },
  },
  { about: 'bucket', method: 'PUT', words: [], handle: bucket.createBucket, needs: MANAGE },
  {
    about: 'bucket',
    method: 'HEAD',
    words: [],
    handle: bucket.headBucket,
    needs: { of: 'bucket', action: 'list' },
  },
  { about: 'bucket', method: 'DELETE', words: [], handle: bucket.deleteBucket, needs: MANAGE },
  {
    about: 'bucket',
    method: 'GET',
    words: [],
    handle: bucket.listBucket,
    needs: { of: 'prefix', action: 'list' },
  },
  {
    about: 'bucket',
    method: 'GET',
    words: ['location'],
    handle: bucket.getBucketLocation,
    needs: { of: 'known' },
  },
  {
    about: 'bucket',
    method: 'GET',
    words: ['versioning'],
    handle: bucket.getBucketVersioning,
    needs: { of: 'known' },
  },
  {
    about: 'bucket',
    method: 'GET',
    words: ['uploads'],
    handle: bucket.listUploads,
    needs: { of: 'prefix', action: 'write' },
  },
  { about: 'bucket', method: 'POST', words: ['delete'], handle: bucket.deleteObjects, needs: { of: 'each' } },
  { about: 'object', method: 'PUT', words: [], handle: object.putObject, needs: WRITE },
  { about: 'object', method: 'GET', words: [], handle: object.getObject, needs: READ },
  { about: 'object', method: 'HEAD', words: [], handle: object.getObject, needs: STAT },
  { about: 'object', method: 'GET', words: ['attributes'], handle: object.getAttributes, needs: STAT },
  {
    about: 'object',
    method: 'DELETE',
    words: [],
    handle: object.deleteObject,
    needs: { of: 'key', action: 'delete' },
  },
  { about: 'object', method: 'POST', words: ['uploads'], handle: upload.startUpload, needs: WRITE },
  { about: 'object', method: 'PUT', words: ['partNumber', 'uploadId'], handle: upload.putPart, needs: WRITE },
  { about: 'object', method: 'GET', words: ['uploadId'], handle: upload.listParts, needs: WRITE },
  { about: 'object', method: 'POST', words: ['uploadId'], handle: upload.completeUpload, needs: WRITE },
  { about: 'object', method: 'DELETE', words: ['uploadId'], handle: upload.abortUpload, needs: WRITE },
];

/** Words of the query that only tune an operation. Any other names an operation: it must not be taken for a plain one. */
const TUNING = new Set([
  'list-type',
  'prefix',
  'delimiter',
  'marker',
  'max-keys',
  'encoding-type',
  'continuation-token',
  'start-after',
  'fetch-owner',
  'key-marker',
  'upload-id-marker',
  'max-uploads',
  'part-number-marker',
  'max-parts',
  'x-id',
]);
const isTuning = (name: string): boolean => TUNING.has(name) || /^(X-Amz-|response-)/.test(name);

/**
 * Handler of a request, and the rights that its sender needs.
 * @throws S3Error (NotImplemented, MethodNotAllowed)
 */
export function routeOf(request: S3Request): Pick<Route, 'handle' | 'needs'> {
  const about = request.bucket === '' ? 'store' : request.key === '' ? 'bucket' : 'object';
  const words = [...request.query.keys()].filter((name) => !isTuning(name)).sort();
  const route = ROUTES.find(
    (candidate) =>
      candidate.about === about &&
      candidate.method === request.method &&
      candidate.words.join() === words.join(),
  );
  // the header makes a write of a body one of another object's bytes
  if (route && request.headers['x-amz-copy-source'] !== undefined) {
    if (route.handle === object.putObject) return { ...route, handle: copy.copyObject };
    if (route.handle === upload.putPart) return { ...route, handle: copy.copyPart };
  }
  if (route) return route;
  if (words.length > 0)
    throw new S3Error('NotImplemented', `The operation ${words.join(', ')} is not implemented.`);
  throw new S3Error('MethodNotAllowed', 'The method is not allowed here.');
}
