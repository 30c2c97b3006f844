import {
  checkMd5,
  checkWriteHeaders,
  type Exchange,
  keptHeaders,
  numberOf,
  quoted,
  sendEmpty,
  sendXml,
  unquoted,
  writeConditionOf,
} from './exchange.js';
import { readText } from './request-body.js';
import { S3Error } from './s3-error.js';
import { elementsOf, textOf, type XmlElement } from './xml.js';

const MAX_PARTS = 10_000;
const MAX_LISTED = 1000;

const uploadId = ({ request }: Exchange): string => request.query.get('uploadId') ?? '';

export async function startUpload({ request, user, uploads, response, now }: Exchange): Promise<void> {
  checkWriteHeaders(request);
  const { accessKeyId } = user;
  const upload = { key: request.key, headers: keptHeaders(request), accessKeyId };
  const id = await uploads.start(request.bucket, upload, now);
  sendXml(response, 'InitiateMultipartUploadResult', [
    ['Bucket', request.bucket],
    ['Key', request.key],
    ['UploadId', id],
  ]);
}

export async function putPart(exchange: Exchange): Promise<void> {
  const { body, response } = exchange;
  const etag = await storePart(exchange, body.pieces);
  const { name, value } = body.checksum() ?? {};
  sendEmpty(response, 200, { etag: quoted(etag), ...(name === undefined ? {} : { [name]: value ?? '' }) });
}

/** Stores the part that a request names. @returns its etag */
export async function storePart(exchange: Exchange, pieces: AsyncIterable<Buffer>): Promise<string> {
  const { request, uploads } = exchange;
  const number = numberOf(request, 'partNumber', 0, Number.MAX_SAFE_INTEGER);
  if (number < 1 || number > MAX_PARTS)
    throw new S3Error('InvalidArgument', `Part numbers go from 1 to ${MAX_PARTS}.`);
  const upload = await uploads.get(request.bucket, request.key, uploadId(exchange));
  return uploads.putPart(request.bucket, upload, number, pieces, (md5) => checkMd5(request, md5));
}

export async function listParts(exchange: Exchange): Promise<void> {
  const { request, uploads, response } = exchange;
  const upload = await uploads.get(request.bucket, request.key, uploadId(exchange));
  const marker = numberOf(request, 'part-number-marker', 0, MAX_PARTS);
  const maxParts = numberOf(request, 'max-parts', MAX_LISTED, MAX_LISTED);
  const found = (await uploads.parts(request.bucket, upload)).filter(({ number }) => number > marker);
  const page = found.slice(0, maxParts);
  const isTruncated = found.length > page.length;
  sendXml(response, 'ListPartsResult', [
    ['Bucket', request.bucket],
    ['Key', request.key],
    ['UploadId', upload.uploadId],
    ['PartNumberMarker', marker],
    ['NextPartNumberMarker', isTruncated ? page.at(-1)?.number : undefined],
    ['MaxParts', maxParts],
    ['IsTruncated', isTruncated],
    ['StorageClass', 'STANDARD'],
    ...page.map(({ number, lastModified, etag, size }): XmlElement => [
      'Part',
      [
        ['PartNumber', number],
        ['LastModified', lastModified.toISOString()],
        ['ETag', quoted(etag)],
        ['Size', size],
      ],
    ]),
  ]);
}

export async function completeUpload(exchange: Exchange): Promise<void> {
  const { request, body, uploads, response } = exchange;
  const condition = writeConditionOf(request);
  const wanted = elementsOf(await readText(body), 'Part').map((part) => ({
    number: Number(textOf(part, 'PartNumber')),
    etag: unquoted(textOf(part, 'ETag') ?? ''),
  }));
  const upload = await uploads.get(request.bucket, request.key, uploadId(exchange));
  const etag = await uploads.complete(request.bucket, upload, wanted, condition);
  sendXml(response, 'CompleteMultipartUploadResult', [
    ['Location', `/${request.bucket}${request.canonicalPath.slice(request.bucket.length + 1)}`],
    ['Bucket', request.bucket],
    ['Key', request.key],
    ['ETag', quoted(etag)],
  ]);
}

export async function abortUpload(exchange: Exchange): Promise<void> {
  const { request, uploads, response } = exchange;
  await uploads.abort(request.bucket, await uploads.get(request.bucket, request.key, uploadId(exchange)));
  sendEmpty(response, 204);
}
