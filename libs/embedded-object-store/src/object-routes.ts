import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import {
  checkMd5,
  checksumHeaders,
  checkWriteHeaders,
  type Exchange,
  keptHeaders,
  quoted,
  sendEmpty,
  sendXml,
  unquoted,
  writeConditionOf,
} from './exchange.js';
import type { ObjectInfo } from './object-files.js';
import { S3Error } from './s3-error.js';
import type { S3Request } from './s3-request.js';
import { writeFileFrom } from './written-file.js';
import type { XmlElement } from './xml.js';

export async function putObject({ request, body, folder, objects, response }: Exchange): Promise<void> {
  checkWriteHeaders(request);
  const condition = writeConditionOf(request);
  const file = await writeFileFrom(folder.temporaryPath(), body.pieces, true);
  try {
    checkMd5(request, file.md5);
    const facts = { etag: file.md5, headers: keptHeaders(request), checksum: body.checksum() };
    await objects.put(request.bucket, request.key, file.path, facts, condition);
  } finally {
    await rm(file.path, { force: true });
  }
  sendEmpty(response, 200, { etag: quoted(file.md5), ...checksumHeaders(body.checksum()) });
}

/** Members of the answer about attributes, by the words of the request. */
const ATTRIBUTES: Readonly<Record<string, (info: ObjectInfo) => XmlElement>> = {
  ETag: ({ etag }) => ['ETag', etag],
  Checksum: ({ checksum }) => [
    'Checksum',
    checksum && [
      [`Checksum${checksum.name.slice('x-amz-checksum-'.length).toUpperCase()}`, checksum.value],
      ['ChecksumType', 'FULL_OBJECT'],
    ],
  ],
  ObjectParts: ({ etag }) => {
    const parts = /-(\d+)$/.exec(etag)?.[1];
    return ['ObjectParts', parts === undefined ? undefined : [['PartsCount', parts]]];
  },
  StorageClass: () => ['StorageClass', 'STANDARD'],
  ObjectSize: ({ size }) => ['ObjectSize', size],
};

export async function getAttributes({ request, objects, response }: Exchange): Promise<void> {
  const wanted = String(request.headers['x-amz-object-attributes'] ?? '')
    .split(',')
    .map((word) => word.trim());
  const unknown = wanted.find((word) => !Object.hasOwn(ATTRIBUTES, word));
  if (unknown !== undefined)
    throw new S3Error('InvalidArgument', `x-amz-object-attributes: "${unknown}" is not an attribute.`);
  const info = await objects.stat(request.bucket, request.key);
  if (!info) throw new S3Error('NoSuchKey', 'The specified key does not exist.');
  response.setHeader('last-modified', info.lastModified.toUTCString());
  sendXml(
    response,
    'GetObjectAttributesResponse',
    wanted.map((word): XmlElement => ATTRIBUTES[word]?.(info) ?? [word, undefined]),
  );
}

export async function getObject({ request, objects, response }: Exchange): Promise<void> {
  const found = await objects.open(request.bucket, request.key);
  if (!found) throw new S3Error('NoSuchKey', 'The specified key does not exist.');
  const { info, handle } = found;
  try {
    if (isUnchanged(request, info)) return sendEmpty(response, 304, { etag: quoted(info.etag) });
    const range = rangeOf(request, info.size);
    response.writeHead(range ? 206 : 200, answerHeaders(request, info, range));
    if (request.method === 'HEAD' || info.size === 0) {
      response.end();
      return;
    }
    const { start, end } = range ?? { start: 0, end: info.size - 1 };
    await pipeline(
      handle.createReadStream({ start, end, highWaterMark: 256 << 10, autoClose: false }),
      response,
    );
  } finally {
    await handle.close();
  }
}

export async function deleteObject({ request, objects, response }: Exchange): Promise<void> {
  await objects.delete(request.bucket, request.key);
  sendEmpty(response, 204);
}

function answerHeaders(
  request: S3Request,
  info: ObjectInfo,
  range: { start: number; end: number } | undefined,
): Record<string, string | number> {
  const overrides: Record<string, string> = {};
  for (const [name, value] of request.query) {
    if (!/^response-(content-(type|disposition|encoding|language)|cache-control|expires)$/.test(name))
      continue;
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw new S3Error('InvalidArgument', `${name} is not the value of a header.`);
    overrides[name.slice('response-'.length)] = value;
  }
  return {
    ...info.headers,
    ...overrides,
    etag: quoted(info.etag),
    'last-modified': info.lastModified.toUTCString(),
    'accept-ranges': 'bytes',
    'content-length': range ? range.end - range.start + 1 : info.size,
    ...(request.headers['x-amz-checksum-mode'] === 'ENABLED' && !range ? checksumHeaders(info.checksum) : {}),
    ...(range ? { 'content-range': `bytes ${range.start}-${range.end}/${info.size}` } : {}),
  };
}

function isUnchanged(request: S3Request, info: ObjectInfo): boolean {
  const match = request.headers['if-match'];
  if (match !== undefined && match !== '*' && unquoted(match) !== info.etag)
    throw new S3Error('PreconditionFailed', 'The object has another etag.');
  const noneMatch = request.headers['if-none-match'];
  if (noneMatch !== undefined) return noneMatch === '*' || unquoted(noneMatch) === info.etag;
  const since = Date.parse(request.headers['if-modified-since'] ?? '');
  return Math.floor(info.lastModified.getTime() / 1000) * 1000 <= since;
}

/**
 * One range, in HTTP's form; undefined when the header is absent or to be ignored.
 * @throws S3Error (InvalidRange)
 */
function rangeOf(request: S3Request, size: number): { start: number; end: number } | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return undefined;
  const isSuffix = match[1] === '';
  const start = isSuffix ? Math.max(0, size - Number(match[2])) : Number(match[1]);
  const end = isSuffix || match[2] === '' ? size - 1 : Math.min(Number(match[2]), size - 1);
  if (start > end) throw new S3Error('InvalidRange', 'The requested range cannot be satisfied.');
  return { start, end };
}
