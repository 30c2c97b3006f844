import { rm } from 'node:fs/promises';
import {
  checkWriteHeaders,
  type Exchange,
  keptHeaders,
  quoted,
  sendXml,
  unquoted,
  writeConditionOf,
} from './exchange.js';
import type { ObjectInfo } from './object-files.js';
import { readText } from './request-body.js';
import { S3Error } from './s3-error.js';
import { storePart } from './upload-routes.js';
import { accessDenied } from './users/access.js';
import { mayAccess } from './users/store-user.js';
import { writeFileFrom } from './written-file.js';

/** Bytes of another object, and its metadata. */
interface CopySource {
  readonly info: ObjectInfo;
  readonly isSame: boolean;
  readonly bytes: (range?: { start: number; end: number }) => AsyncIterable<Buffer>;
}

/**
 * Opens the object that `x-amz-copy-source` names, which the user must be allowed to read, for the time of some work.
 * @throws S3Error (InvalidArgument, AccessDenied, NoSuchBucket, NoSuchKey, PreconditionFailed)
 */
async function withSource<T>(exchange: Exchange, work: (source: CopySource) => Promise<T>): Promise<T> {
  const { request, user, folder, objects, body } = exchange;
  const { bucket, key } = parseSource(String(request.headers['x-amz-copy-source']));
  // before the lookup: whether a foreign object exists cannot be probed
  if (!mayAccess(user, { bucket, action: 'read', target: key })) throw accessDenied();
  await readText(body, 0);
  await folder.requireBucket(bucket);
  const found = await objects.open(bucket, key);
  if (!found) throw new S3Error('NoSuchKey', 'The source of the copy does not exist.');
  const { info, handle } = found;
  try {
    checkConditions(exchange, info);
    return await work({
      info,
      isSame: bucket === request.bucket && key === request.key,
      bytes: (range) => handle.createReadStream({ ...range, highWaterMark: 256 << 10, autoClose: false }),
    });
  } finally {
    await handle.close();
  }
}

/** `/bucket/key`, percent-encoded; versions do not exist here. */
function parseSource(header: string): { bucket: string; key: string } {
  const [path = '', version] = header.split('?versionId=');
  if (version !== undefined && version !== 'null')
    throw new S3Error('NotImplemented', 'Versions of objects are not implemented.');
  let decoded: string;
  try {
    decoded = decodeURIComponent(path).replace(/^\//, '');
  } catch {
    throw new S3Error('InvalidArgument', 'x-amz-copy-source could not be decoded.');
  }
  const [, bucket, key] = /^([^/]+)\/(.+)$/s.exec(decoded) ?? [];
  if (bucket === undefined || key === undefined)
    throw new S3Error('InvalidArgument', 'x-amz-copy-source must have the form bucket/key.');
  return { bucket, key };
}

function checkConditions({ request: { headers } }: Exchange, { etag, lastModified }: ObjectInfo): void {
  const condition = (name: string): string | undefined => {
    const value = headers[`x-amz-copy-source-if-${name}`];
    return typeof value === 'string' ? value : undefined;
  };
  const [match, noneMatch] = [condition('match'), condition('none-match')];
  const [since, until] = [condition('modified-since'), condition('unmodified-since')];
  const changed = Math.floor(lastModified.getTime() / 1000) * 1000;
  const isMet =
    (match === undefined || unquoted(match) === etag) &&
    (noneMatch === undefined || unquoted(noneMatch) !== etag) &&
    (since === undefined || changed > Date.parse(since)) &&
    // a match decides alone, as S3 documents it
    (until === undefined || match !== undefined || changed <= Date.parse(until));
  if (!isMet)
    throw new S3Error('PreconditionFailed', 'The source of the copy does not meet the pre-conditions.');
}

/** Copies an object within the store, without its bytes passing through the client. */
export async function copyObject(exchange: Exchange): Promise<void> {
  const { request, folder, objects, response, now } = exchange;
  checkWriteHeaders(request);
  const condition = writeConditionOf(request);
  const isReplaced = request.headers['x-amz-metadata-directive'] === 'REPLACE';
  const etag = await withSource(exchange, async ({ info, isSame, bytes }) => {
    if (isSame && !isReplaced)
      throw new S3Error('InvalidRequest', 'A copy of an object to itself must replace its metadata.');
    const file = await writeFileFrom(folder.temporaryPath(), bytes(), true);
    try {
      const headers = isReplaced ? keptHeaders(request) : info.headers;
      const facts = { etag: file.md5, headers, checksum: info.checksum };
      await objects.put(request.bucket, request.key, file.path, facts, condition);
    } finally {
      await rm(file.path, { force: true });
    }
    return file.md5;
  });
  sendXml(response, 'CopyObjectResult', [
    ['LastModified', now.toISOString()],
    ['ETag', quoted(etag)],
  ]);
}

/** Makes a part of an upload from bytes of another object. */
export async function copyPart(exchange: Exchange): Promise<void> {
  const { request, response, now } = exchange;
  const etag = await withSource(exchange, ({ info, bytes }) => {
    const header = request.headers['x-amz-copy-source-range'];
    if (header === undefined) return storePart(exchange, bytes());
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(String(header)) ?? [];
    const [start, end] = [Number(first), Number(last)];
    if (!(start <= end && end < info.size))
      throw new S3Error('InvalidArgument', `The range of the copy is not within ${info.size} bytes.`);
    return storePart(exchange, bytes({ start, end }));
  });
  sendXml(response, 'CopyPartResult', [
    ['LastModified', now.toISOString()],
    ['ETag', quoted(etag)],
  ]);
}
