import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Pieces } from '#lib/http';
import { decodeChunks } from './chunked-payload.js';
import { S3Error } from './s3-error.js';
import type { Signed } from './signature.js';

/** A body as the client meant it, verified while it is read: an error at its end means that nothing of it counts. */
export interface RequestBody {
  readonly pieces: AsyncIterable<Buffer>;
  /** Bytes that `pieces` must yield. */
  readonly length: number;
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

/** @throws S3Error (InvalidArgument) when the length or the kind of the payload is not known */
export function bodyOf(request: IncomingMessage, signed: Signed): RequestBody {
  const isChunked = signed.payload.startsWith('STREAMING-');
  const length = Number(request.headers[isChunked ? 'x-amz-decoded-content-length' : 'content-length'] ?? 0);
  if (!Number.isSafeInteger(length) || length < 0 || request.headers['transfer-encoding'] !== undefined)
    throw new S3Error('InvalidArgument', 'The Content-Length header is missing.');
  if (isChunked) return { pieces: counted(decodeChunks(request, signed), length), length };
  if (signed.payload === 'UNSIGNED-PAYLOAD') return { pieces: counted(request, length), length };
  if (!/^[0-9a-f]{64}$/.test(signed.payload))
    throw new S3Error('InvalidArgument', 'x-amz-content-sha256 must be a SHA-256 or a supported keyword.');
  return { pieces: hashed(request, signed.payload), length };
}

/** A small document, read whole. */
export async function readText(body: RequestBody, maxBytes = 2 << 20): Promise<string> {
  if (body.length > maxBytes)
    throw new S3Error('EntityTooLarge', `The document is longer than ${maxBytes} bytes.`);
  const pieces = new Pieces();
  for await (const piece of body.pieces) pieces.add(piece);
  return pieces.whole().toString('utf8');
}
