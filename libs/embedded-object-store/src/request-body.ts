import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Pieces } from '#lib/http';
import { type Checksum, statedChecksum, withChecksum } from './checksum.js';
import { decodeChunks } from './chunked-payload.js';
import { S3Error } from './s3-error.js';
import type { Signed } from './signature.js';

/** A body as the client meant it, verified while it is read: an error at its end means that nothing of it counts. */
export interface RequestBody {
  readonly pieces: AsyncIterable<Buffer>;
  /** Bytes that `pieces` must yield. */
  readonly length: number;
  /** The checksum that was compared, once all pieces were read; undefined when the client stated none. */
  readonly checksum: () => Checksum | undefined;
}

async function* counted(source: AsyncIterable<Buffer>, length: number): AsyncGenerator<Buffer> {
  let seen = 0;
  for await (const piece of source) {
    seen += piece.length;
    // at once: the rest could be without an end
    if (seen > length)
      throw new S3Error('IncompleteBody', `The body has more than the ${length} bytes stated.`);
    yield piece;
  }
  if (seen !== length)
    throw new S3Error('IncompleteBody', `The body has ${seen} bytes, but ${length} are stated.`);
}

async function* hashed(source: AsyncIterable<Buffer>, expected: string): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  for await (const piece of source) {
    hash.update(piece);
    yield piece;
  }
  if (hash.digest('hex') !== expected)
    throw new S3Error('XAmzContentSHA256Mismatch', 'The body does not have the SHA-256 that was signed.');
}

/**
 * A chunked body may come without `Content-Length`: it states its decoded length, as clients of Arrow do.
 * @throws S3Error (InvalidArgument) when the length or the kind of the payload is not known
 */
export function bodyOf(request: IncomingMessage, signed: Signed): RequestBody {
  const { headers } = request;
  const isChunked = signed.payload.startsWith('STREAMING-');
  const stated = headers[isChunked ? 'x-amz-decoded-content-length' : 'content-length'];
  const length = Number(stated ?? 0);
  const hasLength = isChunked ? stated !== undefined : headers['transfer-encoding'] === undefined;
  if (!Number.isSafeInteger(length) || length < 0 || !hasLength)
    throw new S3Error('InvalidArgument', 'The Content-Length header is missing.');
  const trailers = new Map<string, string>();
  const pieces = counted(
    isChunked ? decodeChunks(request, signed, trailers) : plain(request, signed),
    length,
  );
  const name = statedChecksum(headers);
  if (name === undefined) return { pieces, length, checksum: () => undefined };
  const value = (): string | undefined => trailers.get(name) ?? (headers[name] as string | undefined);
  return {
    pieces: withChecksum(pieces, name, value),
    length,
    checksum: () => ({ name, value: value() ?? '' }),
  };
}

function plain(request: IncomingMessage, { payload }: Signed): AsyncIterable<Buffer> {
  if (payload === 'UNSIGNED-PAYLOAD') return request;
  if (!/^[0-9a-f]{64}$/.test(payload))
    throw new S3Error('InvalidArgument', 'x-amz-content-sha256 must be a SHA-256 or a supported keyword.');
  return hashed(request, payload);
}

/** A small document, read whole. */
export async function readText(body: RequestBody, maxBytes = 2 << 20): Promise<string> {
  if (body.length > maxBytes)
    throw new S3Error('EntityTooLarge', `The document is longer than ${maxBytes} bytes.`);
  const pieces = new Pieces();
  for await (const piece of body.pieces) pieces.add(piece);
  return pieces.whole().toString('utf8');
}
