import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { EncodingError } from './byte-reader.js';
import { type BodyEncoding, inflatedPieces } from './inflated-pieces.js';

const MIB = 1 << 20;
const TEXT = Buffer.from(
  JSON.stringify({
    inputs: 'y'.repeat(3_000),
    roots: Array.from({ length: 500 }, (_none, at) => Math.sqrt(at)),
  }),
);
const SKIPPABLE = Buffer.from([0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
const CHECKED = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
/** Parameters for a frame without its size in its head, like those of clients that compress a stream. */
const UNSIZED = { params: { [constants.ZSTD_c_contentSizeFlag]: 0 } };
const wide = (windowLog: number) => ({ params: { [constants.ZSTD_c_windowLog]: windowLog } });

interface Inflated {
  readonly bytes: Buffer;
  readonly heldBytes: number;
  readonly windows: readonly number[];
  readonly error: unknown;
}

async function* cut(body: Buffer, pieceBytes: number): AsyncGenerator<Buffer, void, void> {
  for (let at = 0; at < body.length; at += pieceBytes) yield body.subarray(at, at + pieceBytes);
}

async function inflate(
  encoding: BodyEncoding,
  body: Buffer | AsyncIterable<Buffer>,
  { pieceBytes = MIB, maxBytes = 32 * MIB, holdAtMost = Infinity } = {},
): Promise<Inflated> {
  const pieces: Buffer[] = [];
  const windows: number[] = [];
  let heldBytes = 0;
  let error: unknown;
  const hold = (bytes: number): void => {
    heldBytes += bytes;
    if (heldBytes > holdAtMost) throw new RangeError('no room');
  };
  const compressed = Buffer.isBuffer(body) ? cut(body, pieceBytes) : body;
  const options = { encoding, maxBytes, hold, holdWindow: (bytes: number) => windows.push(bytes) };
  try {
    for await (const piece of inflatedPieces(compressed, options)) pieces.push(piece);
  } catch (thrown) {
    error = thrown;
  }
  return { bytes: Buffer.concat(pieces), heldBytes, windows, error };
}

describe('inflatedPieces', () => {
  const half = Math.floor(TEXT.length / 2);
  const [first, second] = [TEXT.subarray(0, half), TEXT.subarray(half)];

  it.each<[string, BodyEncoding, Buffer]>([
    ['one gzip member', 'gzip', gzipSync(TEXT)],
    ['two gzip members', 'gzip', Buffer.concat([gzipSync(first), gzipSync(second)])],
    ['one zstd frame', 'zstd', zstdCompressSync(TEXT)],
    ['a zstd frame with a checksum', 'zstd', zstdCompressSync(TEXT, CHECKED)],
    ['a zstd frame without its size', 'zstd', zstdCompressSync(TEXT, UNSIZED)],
    ['two zstd frames', 'zstd', Buffer.concat([zstdCompressSync(first, CHECKED), zstdCompressSync(second)])],
    [
      'zstd frames between empty and skippable ones',
      'zstd',
      Buffer.concat([
        SKIPPABLE,
        zstdCompressSync(first, UNSIZED),
        zstdCompressSync(''),
        SKIPPABLE,
        SKIPPABLE,
        zstdCompressSync(second),
        SKIPPABLE,
      ]),
    ],
  ])('inflates %s, however it is cut into pieces', async (_, encoding, body) => {
    for (const pieceBytes of [MIB, 7, 1]) {
      const { bytes, heldBytes, error } = await inflate(encoding, body, { pieceBytes });
      expect([pieceBytes, error, bytes.equals(TEXT), heldBytes]).toEqual([
        pieceBytes,
        undefined,
        true,
        TEXT.length,
      ]);
    }
  });

  it.each<[string, BodyEncoding, () => Buffer]>([
    ['text', 'gzip', () => TEXT],
    ['text', 'zstd', () => TEXT],
    ['no byte', 'gzip', () => Buffer.alloc(0)],
    ['no byte', 'zstd', () => Buffer.alloc(0)],
    ['half a member', 'gzip', () => gzipSync(TEXT).subarray(0, 300)],
    ['half a frame', 'zstd', () => zstdCompressSync(TEXT).subarray(0, 300)],
    ['half a second member', 'gzip', () => Buffer.concat([gzipSync(TEXT), gzipSync(TEXT).subarray(0, 300)])],
    [
      'half a second frame',
      'zstd',
      () => Buffer.concat([zstdCompressSync(TEXT), zstdCompressSync(TEXT).subarray(0, 300)]),
    ],
    [
      'half a skippable frame',
      'zstd',
      () => Buffer.concat([zstdCompressSync(TEXT), SKIPPABLE.subarray(0, 9)]),
    ],
    ['text after a member', 'gzip', () => Buffer.concat([gzipSync(TEXT), TEXT])],
    ['text after a frame', 'zstd', () => Buffer.concat([zstdCompressSync(TEXT), TEXT])],
    ['a changed byte', 'gzip', () => changed(gzipSync(TEXT))],
    ['a changed byte under a checksum', 'zstd', () => changed(zstdCompressSync(TEXT, CHECKED))],
  ])('refuses %s as %s', async (_, encoding, body) => {
    for (const pieceBytes of [MIB, 7]) {
      const { error } = await inflate(encoding, body(), { pieceBytes });
      expect(error).toMatchObject({ name: 'UnreadableError', type: 'encoding_invalid', isTooLarge: false });
      expect((error as EncodingError).message).toMatch(new RegExp(`^the body .*${encoding}`));
    }
  });

  it.each<[string, BodyEncoding, () => Buffer, RegExp]>([
    [
      'more content than a body may have',
      'gzip',
      () => gzipSync(Buffer.alloc(2 * MIB)),
      /^the body inflates to more/,
    ],
    [
      'more content than a body may have',
      'zstd',
      () => zstdCompressSync(Buffer.alloc(2 * MIB)),
      /^the body inflates/,
    ],
    [
      'empty members without end',
      'gzip',
      () => Buffer.concat(Array<Buffer>(60_000).fill(gzipSync(''))),
      /^the body is longer/,
    ],
    [
      'empty blocks without end',
      'zstd',
      () => Buffer.concat([zstdCompressSync(TEXT, UNSIZED).subarray(0, 6), Buffer.alloc(MIB)]),
      /^the body is longer/,
    ],
    [
      'frames without number',
      'zstd',
      () => Buffer.concat(Array<Buffer>(1_025).fill(zstdCompressSync(''))),
      /1024 zstd frames/,
    ],
    [
      'a window of 16 MiB',
      'zstd',
      () => zstdCompressSync(Buffer.alloc(17 * MIB), wide(24)),
      /window of 16777216 bytes/,
    ],
    [
      'a window of 16 MiB in its second frame',
      'zstd',
      () => Buffer.concat([zstdCompressSync(TEXT), zstdCompressSync(Buffer.alloc(17 * MIB), wide(24))]),
      /window of 16777216 bytes/,
    ],
  ])('refuses %s of %s as too large', async (_, encoding, body, message) => {
    const { error, bytes } = await inflate(encoding, body(), { maxBytes: MIB });
    expect(error).toMatchObject({
      name: 'UnreadableError',
      isTooLarge: true,
      message: expect.stringMatching(message),
    });
    expect(bytes.length).toBeLessThanOrEqual(MIB);
  });

  it.each<[BodyEncoding, (body: Buffer) => Buffer, number]>([
    ['gzip', gzipSync, 300],
    ['zstd', zstdCompressSync, 5_000],
  ])(
    'refuses blanks of %s by their ratio, and takes histories that come again',
    async (encoding, pack, most) => {
      const { error, bytes } = await inflate(encoding, pack(Buffer.alloc(30 * MIB, ' ')));
      expect(error).toMatchObject({
        isTooLarge: true,
        message: expect.stringContaining(`than ${most} times`),
      });
      expect(bytes.length).toBeLessThanOrEqual(10 * MIB);
      const again = Buffer.concat(Array<Buffer>(1_500).fill(TEXT));
      expect((await inflate(encoding, pack(again))).bytes.equals(again)).toBe(true);
    },
  );

  it('counts what the decoder holds before its frame is decoded', async () => {
    const wideBody = zstdCompressSync(Buffer.alloc(9 * MIB), wide(23));
    expect((await inflate('zstd', Buffer.concat([zstdCompressSync(TEXT), wideBody]))).windows).toEqual([
      TEXT.length,
      8 * MIB,
    ]);
    expect((await inflate('gzip', gzipSync(TEXT))).windows).toEqual([32_768]);
  });

  it('inflates no further than there is room', async () => {
    const { error, heldBytes, bytes } = await inflate('gzip', gzipSync(Buffer.alloc(20 * MIB)), {
      holdAtMost: MIB,
    });
    expect(error).toBeInstanceOf(RangeError);
    expect([heldBytes, bytes.length]).toEqual([MIB + 65_536, MIB]);
  });

  it.each<BodyEncoding>(['gzip', 'zstd'])(
    'throws what its source throws in the middle of %s',
    async (encoding) => {
      const body = encoding === 'gzip' ? gzipSync(TEXT) : zstdCompressSync(TEXT);
      const lost = new Error('aborted');
      const broken = async function* (): AsyncGenerator<Buffer, void, void> {
        yield body.subarray(0, 300);
        throw lost;
      };
      expect((await inflate(encoding, broken())).error).toBe(lost);
    },
  );

  it.each<BodyEncoding>(['gzip', 'zstd'])(
    'refuses %s without waiting for the rest of its source',
    async (encoding) => {
      const body = encoding === 'gzip' ? gzipSync(Buffer.alloc(MIB)) : zstdCompressSync(Buffer.alloc(MIB));
      const stalled = async function* (): AsyncGenerator<Buffer, void, void> {
        yield body.subarray(0, -4);
        await new Promise(() => undefined);
      };
      expect((await inflate(encoding, stalled(), { holdAtMost: 65_536 })).error).toBeInstanceOf(RangeError);
    },
  );
});

function changed(body: Buffer): Buffer {
  const at = body.length - 10;
  body.writeUInt8(body.readUInt8(at) ^ 0x55, at);
  return body;
}
