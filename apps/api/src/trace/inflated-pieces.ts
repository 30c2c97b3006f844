import { pipeline } from 'node:stream';
import { constants, createGunzip, createZstdDecompress } from 'node:zlib';
import { EncodingError } from './byte-reader.js';
import { zstdFrames } from './zstd-frames.js';

export type BodyEncoding = 'gzip' | 'zstd';

/** Size of an inflated piece: one run of the decoder, off the main thread. */
const PIECE_BYTES = 65_536;
/** 8 MiB, which every decoder must be able to hold for HTTP (RFC 9659). The clients use less. */
const MAX_WINDOW_LOG = 23;
const GZIP_WINDOW = 32_768;

/** Bodies up to this are inflated whatever they consist of. */
const SMALL_BYTES = 4 * 2 ** 20;
/**
 * Maximum ratio of content to body. Bodies of agents reach a hundred in gzip, whose window is small, and a
 * thousand in zstd, which finds a whole history again; blanks reach 1,030 and 32,000.
 */
const MAX_RATIO = { gzip: 300, zstd: 5_000 };

export interface Inflation {
  readonly encoding: BodyEncoding;
  /** Maximum size of the body as it was sent, and of its inflated content. */
  readonly maxBytes: number;
  /** Gets the length of each piece before it is handed on; what it throws ends the inflation. */
  readonly hold: (bytes: number) => void;
  /** Gets how much the decoder itself holds, before it does. */
  readonly holdWindow: (bytes: number) => void;
}

/**
 * The pieces of a compressed body, inflated no faster than they are taken. The sizes of body and content are
 * bounded, their ratio included, and with them the time: 100 MiB of members or blocks without content take 1
 * s, a few milliseconds in one go.
 * @throws EncodingError for a body that is not compressed in that way or too large, and any error that `hold`
 * throws
 */
export async function* inflatedPieces(
  compressed: AsyncIterable<Buffer>,
  { encoding, maxBytes, hold, holdWindow }: Inflation,
): AsyncGenerator<Buffer, void, void> {
  let sentBytes = 0;
  const count = (bytes: number): void => void (sentBytes = bytes);
  const sent = bounded(compressed, maxBytes, `the body is longer than ${maxBytes} bytes`, count);
  const most = MAX_RATIO[encoding];
  const judge = (bytes: number): void => {
    if (bytes > SMALL_BYTES && bytes > most * sentBytes)
      throw new EncodingError(`the body inflates to more than ${most} times its length in ${encoding}`, true);
  };
  const decoder = encoding === 'gzip' ? gzipDecoder() : zstdDecoder();
  if (encoding === 'gzip') holdWindow(GZIP_WINDOW);
  const pieces = encoding === 'gzip' ? sent : zstdFrames(sent, (window) => holdWindow(allowed(window)));
  // it destroys the decoder with any failure, which is thrown to its reader
  pipeline(pieces, decoder, () => undefined);
  try {
    const inflated = decoder as AsyncIterable<Buffer>;
    for await (const piece of bounded(
      inflated,
      maxBytes,
      `the body inflates to more than ${maxBytes} bytes`,
      judge,
    )) {
      hold(piece.length);
      yield piece;
    }
  } catch (error) {
    throw isOfDecoder(error)
      ? new EncodingError(`the body is not valid ${encoding}: ${error.message}`)
      : error;
  } finally {
    // The pipeline still waits for the next piece, drops it and ends. Waiting for that would delay a refusal.
    decoder.destroy();
  }
}

async function* bounded(
  pieces: AsyncIterable<Buffer>,
  maxBytes: number,
  refusal: string,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Buffer, void, void> {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > maxBytes) throw new EncodingError(refusal, true);
    onBytes(bytes);
    yield piece;
  }
}

const gzipDecoder = () => createGunzip({ chunkSize: PIECE_BYTES });

const zstdDecoder = () =>
  createZstdDecompress({
    chunkSize: PIECE_BYTES,
    params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG },
  });

function allowed(window: number): number {
  const maxWindow = 2 ** MAX_WINDOW_LOG;
  if (window <= maxWindow) return window;
  throw new EncodingError(`a zstd frame needs a window of ${window} bytes, more than ${maxWindow}`, true);
}

/** Their codes begin with the name of their library. */
function isOfDecoder(error: unknown): error is { readonly message: string } {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^Z(STD)?_/.test(code);
}
