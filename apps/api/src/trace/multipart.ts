import { ByteReader, UnreadableError } from './byte-reader.js';

export interface MultipartPart {
  readonly name: string;
  readonly contentType: string;
  /** Empty if there are pieces. */
  readonly body: Buffer;
  /** Pieces of a part that is handed on as it comes; they are read to their end before the next part. */
  readonly pieces?: AsyncIterable<Buffer>;
  /** Bytes that the client has announced. */
  readonly length?: number | undefined;
}

export interface MultipartLimits {
  /** Bytes of the whole body. */
  readonly maxBytes: number;
  /** Bytes of one part. */
  readonly maxPartBytes: number;
  /** Bytes of one part that is handed on in pieces; as of any other when absent. */
  readonly maxStreamedBytes?: number;
  /** True when a part of this name is handed on in pieces. */
  readonly isStreamed?: (name: string) => boolean;
}

const MAX_HEADER_BYTES = 16_384;
const MAX_BOUNDARY = 200;
/**
 * Maximum number of parts per body: each costs the same, however few bytes it has. A run takes up to eight.
 */
const MAX_PARTS = 100_000;
const LINE_END = Buffer.from('\r\n');
const NOTHING = Buffer.alloc(0);
const HEADERS_END = Buffer.from('\r\n\r\n');

/** The boundary in a content type; undefined when it has no allowed one. */
export function boundaryOf(contentType: string): string | undefined {
  const match = /;\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  return boundary !== undefined && boundary.length <= MAX_BOUNDARY ? boundary : undefined;
}

function headersOf(text: string): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const line of text.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}

/** Python announces a part's length in a header, JavaScript in a parameter of the content type. */
function lengthOf(headers: ReadonlyMap<string, string>): number | undefined {
  const stated =
    headers.get('content-length') ?? /;\s*length=(\d+)/i.exec(headers.get('content-type') ?? '')?.[1];
  return stated !== undefined && /^\d{1,15}$/.test(stated) ? Number(stated) : undefined;
}

function nameOf(headers: ReadonlyMap<string, string>): string {
  const match = /;\s*name="((?:[^"\\]|\\.)*)"/i.exec(headers.get('content-disposition') ?? '');
  if (match?.[1] === undefined) throw new UnreadableError('a part has no name');
  return match[1].replace(/\\(.)/g, '$1');
}

/**
 * The parts of a multipart/form-data body as they arrive. A part with a stated length is taken by it, so that its bytes
 * are not searched; without one it ends at the next boundary.
 * @throws UnreadableError
 */
export async function* multipartParts(
  stream: AsyncIterable<Buffer>,
  boundary: string,
  limits: MultipartLimits,
): AsyncGenerator<MultipartPart, void, void> {
  const reader = new ByteReader(stream, limits.maxBytes);
  try {
    yield* readParts(reader, boundary, limits);
  } finally {
    await reader.end();
  }
}

async function* readParts(
  reader: ByteReader,
  boundary: string,
  limits: MultipartLimits,
): AsyncGenerator<MultipartPart, void, void> {
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  await reader.until(delimiter.subarray(LINE_END.length), MAX_HEADER_BYTES);
  for (let count = 0; ; count++) {
    const next = (await reader.exactly(2)).toString('latin1');
    if (next === '--') return;
    if (next !== '\r\n') throw new UnreadableError('a boundary is followed by neither a part nor the end');
    if (count === MAX_PARTS) throw new UnreadableError(`the body has more than ${MAX_PARTS} parts`, true);
    const headers = headersOf((await reader.until(HEADERS_END, MAX_HEADER_BYTES)).toString('utf8'));
    if (headers.has('content-encoding')) throw new UnreadableError('parts cannot be encoded');
    const length = lengthOf(headers);
    const name = nameOf(headers);
    const isStreamed = limits.isStreamed?.(name) ?? false;
    const most = (isStreamed ? limits.maxStreamedBytes : undefined) ?? limits.maxPartBytes;
    if (length !== undefined && length > most)
      throw new UnreadableError(`a part is longer than ${most} bytes`, true);
    const contentType = headers.get('content-type') ?? '';
    if (isStreamed) {
      const pieces = length === undefined ? reader.nextUntil(delimiter, most) : reader.next(length);
      yield { name, contentType, body: NOTHING, pieces, length };
      if (length !== undefined) await reader.expect(delimiter);
      continue;
    }
    let body: Buffer;
    if (length === undefined) body = await reader.until(delimiter, limits.maxPartBytes);
    else {
      body = await reader.exactly(length);
      await reader.expect(delimiter);
    }
    yield { name, contentType, body };
  }
}
