import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Pieces } from '#lib/http';
import { type Checksum, statedChecksum, withChecksum } from './checksum.js';
import { S3Error } from './s3-error.js';
import { hmac, sameSignature, sha256, type Signed } from './signature.js';

const EMPTY_SHA256 = sha256('');
const MAX_LINE = 16 * 1024;

/** Reads lines and counted bytes from pieces, holding on to one piece only. */
class PieceReader {
  #source: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async #more(): Promise<Buffer> {
    const next = await this.#source.next();
    if (next.done) throw new S3Error('IncompleteBody', 'The body ended inside a chunk.');
    return next.value;
  }

  async line(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf('\r\n');
      if (end >= 0) {
        const text = this.#rest.toString('latin1', 0, end);
        this.#rest = this.#rest.subarray(end + 2);
        return text;
      }
      if (this.#rest.length > MAX_LINE) throw new S3Error('InvalidArgument', 'A chunk header is too long.');
      this.#rest = Buffer.concat([this.#rest, await this.#more()]);
    }
  }

  async *bytes(count: number): AsyncGenerator<Buffer> {
    for (let due = count; due > 0;) {
      if (this.#rest.length === 0) this.#rest = await this.#more();
      const piece = this.#rest.subarray(0, due);
      this.#rest = this.#rest.subarray(piece.length);
      due -= piece.length;
      yield piece;
    }
  }
}

class ChunkSignatures {
  #signed: Signed;
  #previous: string;

  constructor(signed: Signed) {
    this.#signed = signed;
    this.#previous = signed.signature;
  }

  check(kind: 'PAYLOAD' | 'TRAILER', hashes: readonly string[], claimed: string | undefined): void {
    const { date, scope, signingKey } = this.#signed;
    const toSign = [`AWS4-HMAC-SHA256-${kind}`, date, scope, this.#previous, ...hashes].join('\n');
    const expected = hmac(signingKey, toSign).toString('hex');
    if (claimed === undefined || !sameSignature(expected, claimed))
      throw new S3Error('SignatureDoesNotMatch', 'The signature of a chunk does not match.');
    this.#previous = expected;
  }
}

/**
 * Takes the `aws-chunked` framing off a body: `SIZE;chunk-signature=HEX\r\nDATA\r\n…0;…\r\n[trailers]\r\n`, and checks
 * the chain of signatures when the payload is signed. Bytes are handed on before their chunk is verified, so nothing
 * may be kept until the generator has ended.
 * @param found gets the trailers, by their names
 */
export async function* decodeChunks(
  source: AsyncIterable<Buffer>,
  signed: Signed,
  found = new Map<string, string>(),
): AsyncGenerator<Buffer> {
  const reader = new PieceReader(source);
  const signatures = signed.payload.startsWith('STREAMING-AWS4-HMAC-SHA256-PAYLOAD')
    ? new ChunkSignatures(signed)
    : undefined;
  for (;;) {
    const [size = '', extension = ''] = (await reader.line()).split(';');
    if (!/^[0-9a-fA-F]{1,12}$/.test(size)) throw new S3Error('InvalidArgument', 'A chunk has no valid size.');
    const count = parseInt(size, 16);
    const hash = signatures ? createHash('sha256') : undefined;
    for await (const piece of reader.bytes(count)) {
      hash?.update(piece);
      yield piece;
    }
    if (hash)
      signatures?.check(
        'PAYLOAD',
        [EMPTY_SHA256, hash.digest('hex')],
        /^chunk-signature=(\w+)$/.exec(extension)?.[1],
      );
    if (count === 0) break;
    if ((await reader.line()) !== '')
      throw new S3Error('InvalidArgument', 'A chunk is longer than its header states.');
  }
  const trailers: string[] = [];
  let letters = 0;
  for (let line = await reader.line(); line !== ''; line = await reader.line()) {
    letters += line.length;
    if (letters > MAX_LINE) throw new S3Error('InvalidArgument', 'The trailers are too long.');
    trailers.push(line);
    const at = line.indexOf(':');
    found.set(line.slice(0, at).toLowerCase(), line.slice(at + 1).trim());
  }
  if (!signatures || !signed.payload.endsWith('-TRAILER')) return;
  const own = trailers.filter((line) => !line.startsWith('x-amz-trailer-signature:'));
  const claimed = trailers.find((line) => line.startsWith('x-amz-trailer-signature:'))?.split(':')[1];
  signatures.check('TRAILER', [sha256(own.map((line) => `${line}\n`).join(''))], claimed);
}

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
