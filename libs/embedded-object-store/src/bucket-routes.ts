import { createHash } from 'node:crypto';
import { encodeStrictly } from './s3-request.js';
import { type Exchange, numberOf, quoted, sendEmpty, sendXml } from './exchange.js';
import { listObjects, type Listing } from './object-listing.js';
import { readText } from './request-body.js';
import { S3Error } from './s3-error.js';
import { accessDenied } from './users/access.js';
import { mayAccess } from './users/store-user.js';
import { elementsOf, textOf, type XmlElement } from './xml.js';

const MAX_KEYS = 1000;

export async function listBuckets({ folder, response }: Exchange): Promise<void> {
  const buckets = await folder.listBuckets();
  sendXml(response, 'ListAllMyBucketsResult', [
    ['Owner', [['ID', 'owner']]],
    [
      'Buckets',
      buckets.map(({ name, createdAt }) => [
        'Bucket',
        [
          ['Name', name],
          ['CreationDate', createdAt.toISOString()],
        ],
      ]),
    ],
  ]);
}

export async function createBucket({ request, folder, response }: Exchange): Promise<void> {
  if ((await folder.createBucket(request.bucket)) === 'existed')
    throw new S3Error('BucketAlreadyOwnedByYou', 'The bucket already exists.');
  sendEmpty(response, 200, { location: `/${request.bucket}` });
}

export async function headBucket({ response, region }: Exchange): Promise<void> {
  sendEmpty(response, 200, { 'x-amz-bucket-region': region });
}

export async function deleteBucket({ request, folder, response }: Exchange): Promise<void> {
  await folder.deleteBucket(request.bucket);
  sendEmpty(response, 204);
}

export async function getBucketLocation({ response, region }: Exchange): Promise<void> {
  // the oldest region has no name here
  const text = Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?>\n<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/">` +
      `${region === 'us-east-1' ? '' : region}</LocationConstraint>`,
  );
  response.writeHead(200, { 'content-type': 'application/xml', 'content-length': text.length });
  response.end(text);
}

export async function getBucketVersioning({ response }: Exchange): Promise<void> {
  sendXml(response, 'VersioningConfiguration', []);
}

/** Both versions of ListObjects; they differ in how a page names the next one. */
export async function listBucket(exchange: Exchange): Promise<void> {
  const { request, folder, response } = exchange;
  const { query, bucket } = request;
  const isV2 = query.get('list-type') === '2';
  const name = query.get('encoding-type') === 'url' ? urlEncoded : plain;
  const token = query.get('continuation-token');
  const after = isV2
    ? token
      ? decodeToken(token)
      : (query.get('start-after') ?? '')
    : (query.get('marker') ?? '');
  const prefix = query.get('prefix') ?? '';
  const delimiter = query.get('delimiter') ?? '';
  const maxKeys = numberOf(request, 'max-keys', MAX_KEYS, MAX_KEYS);
  const listing: Listing =
    maxKeys === 0
      ? { objects: [], groups: [] }
      : await listObjects(folder.bucketPath(bucket), { prefix, delimiter, after, maxKeys });
  const contents = await renderObjects(exchange, listing, name);
  const next = listing.next;
  sendXml(response, 'ListBucketResult', [
    ['Name', bucket],
    ['Prefix', name(prefix)],
    ['Delimiter', delimiter === '' ? undefined : name(delimiter)],
    ['MaxKeys', maxKeys],
    ['EncodingType', query.get('encoding-type')],
    ['IsTruncated', next !== undefined],
    ...(isV2
      ? ([
          ['KeyCount', listing.objects.length + listing.groups.length],
          ['ContinuationToken', token],
          ['NextContinuationToken', next === undefined ? undefined : encodeToken(next)],
          ['StartAfter', query.has('start-after') ? name(query.get('start-after') ?? '') : undefined],
        ] satisfies XmlElement[])
      : ([
          ['Marker', name(after)],
          ['NextMarker', next === undefined ? undefined : name(next)],
        ] satisfies XmlElement[])),
    ...contents,
    ...listing.groups.map((group): XmlElement => ['CommonPrefixes', [['Prefix', name(group)]]]),
  ]);
}

async function renderObjects(
  { request, objects }: Exchange,
  listing: Listing,
  name: (text: string) => string,
): Promise<XmlElement[]> {
  const contents: XmlElement[] = [];
  for (const { key, path } of listing.objects) {
    const info = await objects.infoAt(request.bucket, key, path);
    if (!info) continue;
    contents.push([
      'Contents',
      [
        ['Key', name(key)],
        ['LastModified', info.lastModified.toISOString()],
        ['ETag', quoted(info.etag)],
        ['Size', info.size],
        ['StorageClass', 'STANDARD'],
      ],
    ]);
  }
  return contents;
}

export async function listUploads({ request, uploads, response }: Exchange): Promise<void> {
  const prefix = request.query.get('prefix') ?? '';
  const maxUploads = numberOf(request, 'max-uploads', MAX_KEYS, MAX_KEYS);
  const keyMarker = request.query.get('key-marker') ?? '';
  const idMarker = request.query.get('upload-id-marker') ?? '';
  const found = (await uploads.list(request.bucket, prefix)).filter(({ key, uploadId }) => {
    if (keyMarker === '') return true;
    const order = Buffer.compare(Buffer.from(key), Buffer.from(keyMarker));
    // the rest of a key's uploads, also when the one that ended the page has been aborted since
    return order > 0 || (order === 0 && idMarker !== '' && uploadId > idMarker);
  });
  const page = found.slice(0, maxUploads);
  const isTruncated = found.length > page.length;
  sendXml(response, 'ListMultipartUploadsResult', [
    ['Bucket', request.bucket],
    ['KeyMarker', keyMarker],
    ['UploadIdMarker', idMarker],
    ['NextKeyMarker', isTruncated ? page.at(-1)?.key : undefined],
    ['NextUploadIdMarker', isTruncated ? page.at(-1)?.uploadId : undefined],
    ['Prefix', prefix],
    ['MaxUploads', maxUploads],
    ['IsTruncated', isTruncated],
    ...page.map(({ key, uploadId, initiated }): XmlElement => [
      'Upload',
      [
        ['Key', key],
        ['UploadId', uploadId],
        ['StorageClass', 'STANDARD'],
        ['Initiated', initiated],
      ],
    ]),
  ]);
}

export async function deleteObjects({ request, user, body, objects, response }: Exchange): Promise<void> {
  const document = await readText(body);
  const keys = elementsOf(document, 'Object').map((object) => textOf(object, 'Key'));
  if (keys.length === 0 || keys.length > MAX_KEYS || keys.includes(undefined))
    throw new S3Error('MalformedXML', `From 1 to ${MAX_KEYS} objects can be deleted in one request.`);
  const digest = request.headers['content-md5'];
  if (digest !== undefined && digest !== createHash('md5').update(document).digest('base64'))
    throw new S3Error('BadDigest', 'The Content-MD5 does not match the body.');
  const isQuiet = textOf(document, 'Quiet') === 'true';
  const results: XmlElement[] = [];
  for (const key of keys) {
    try {
      if (!mayAccess(user, { bucket: request.bucket, action: 'delete', target: key ?? '' }))
        throw accessDenied();
      await objects.delete(request.bucket, key ?? '');
      if (!isQuiet) results.push(['Deleted', [['Key', key]]]);
    } catch (error) {
      const code = error instanceof S3Error ? error.code : 'InternalError';
      results.push([
        'Error',
        [
          ['Key', key],
          ['Code', code],
          ['Message', code === 'AccessDenied' ? 'Access Denied' : 'Deleting the object failed.'],
        ],
      ]);
    }
  }
  sendXml(response, 'DeleteResult', results);
}

const plain = (text: string): string => text;
const urlEncoded = (text: string): string => text.split('/').map(encodeStrictly).join('/');
const encodeToken = (after: string): string => Buffer.from(after).toString('base64url');
const decodeToken = (token: string): string => Buffer.from(token, 'base64url').toString();
