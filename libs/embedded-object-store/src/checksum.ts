import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';
import { S3Error } from './s3-error.js';

/** A checksum of a body that was compared: name of its header, and the value in base64. */
export interface Checksum {
  readonly name: string;
  readonly value: string;
}

interface Running {
  update(piece: Buffer): void;
  /** Base64. */
  digest(): string;
}

const PREFIX = 'x-amz-checksum-';

/** Table of a reflected CRC of 32 bits, for one byte a step. */
function crcTable(polynomial: number): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_entry, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ polynomial : value >>> 1;
    return value;
  });
}

function ofWord(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes.toString('base64');
}

const CRC32C = crcTable(0x82f63b78);
/** CRC-64/NVME in two halves: numbers of JavaScript have 53 bits, and BigInt is forty times slower. */
const CRC64_HIGH = 0x9a6c9329;
const CRC64_LOW = 0xac4bc9b5;
const CRC64 = Array.from({ length: 256 }, (_entry, byte) => {
  let [high, low] = [0, byte];
  for (let bit = 0; bit < 8; bit++) {
    const isOdd = low & 1;
    low = (low >>> 1) | (high << 31);
    high >>>= 1;
    if (isOdd) [high, low] = [high ^ CRC64_HIGH, low ^ CRC64_LOW];
  }
  return [high >>> 0, low >>> 0] as const;
});
const CRC64_TABLES = {
  high: Uint32Array.from(CRC64, ([high]) => high),
  low: Uint32Array.from(CRC64, ([, low]) => low),
};

function runningCrc32(): Running {
  let value = 0;
  return { update: (piece) => (value = crc32(piece, value)), digest: () => ofWord(value) };
}

function runningCrc32c(): Running {
  let value = 0xffffffff;
  return {
    update(piece) {
      for (const byte of piece) value = (CRC32C[(value ^ byte) & 0xff] ?? 0) ^ (value >>> 8);
    },
    digest: () => ofWord(value ^ 0xffffffff),
  };
}

function runningCrc64(): Running {
  let [high, low] = [0xffffffff, 0xffffffff];
  return {
    update(piece) {
      for (const byte of piece) {
        const at = (low ^ byte) & 0xff;
        low = ((low >>> 8) | (high << 24)) ^ (CRC64_TABLES.low[at] ?? 0);
        high = (high >>> 8) ^ (CRC64_TABLES.high[at] ?? 0);
      }
    },
    digest() {
      const bytes = Buffer.alloc(8);
      bytes.writeUInt32BE((high ^ 0xffffffff) >>> 0);
      bytes.writeUInt32BE((low ^ 0xffffffff) >>> 0, 4);
      return bytes.toString('base64');
    },
  };
}

function runningHash(algorithm: string): Running {
  const hash = createHash(algorithm);
  return { update: (piece) => void hash.update(piece), digest: () => hash.digest('base64') };
}

const ALGORITHMS: Readonly<Record<string, () => Running>> = {
  crc32: runningCrc32,
  crc32c: runningCrc32c,
  crc64nvme: runningCrc64,
  sha1: () => runningHash('sha1'),
  sha256: () => runningHash('sha256'),
};

const isValue = (name: string): boolean =>
  name.startsWith(PREFIX) && Object.hasOwn(ALGORITHMS, name.slice(PREFIX.length));

/**
 * Header or trailer with the checksum that a client states for its body.
 * @throws S3Error (InvalidArgument) when it states several, or one that is not known
 */
export function statedChecksum(headers: IncomingHttpHeaders): string | undefined {
  const trailer = headers['x-amz-trailer'];
  const stated = [...Object.keys(headers), ...(typeof trailer === 'string' ? trailer.split(',') : [])]
    .map((name) => name.trim().toLowerCase())
    .filter((name) => isValue(name) || (typeof trailer === 'string' && name === trailer && name !== ''));
  const names = [...new Set(stated)];
  const [name] = names;
  if (names.length > 1) throw new S3Error('InvalidArgument', 'State one checksum.');
  if (name !== undefined && !isValue(name))
    throw new S3Error('InvalidArgument', `${name} is not a checksum that is supported.`);
  return name;
}

/**
 * Compares a body with its checksum while it is read; the last piece has been handed on when it fails.
 * @param valueOf the value that the client stated, known at the end of the body
 * @throws S3Error (BadDigest)
 */
export async function* withChecksum(
  source: AsyncIterable<Buffer>,
  name: string,
  valueOf: () => string | undefined,
): AsyncGenerator<Buffer> {
  const running = ALGORITHMS[name.slice(PREFIX.length)]?.();
  for await (const piece of source) {
    running?.update(piece);
    yield piece;
  }
  if (running?.digest() !== valueOf()?.trim())
    throw new S3Error('BadDigest', `The ${name} you specified did not match the calculated checksum.`);
}
