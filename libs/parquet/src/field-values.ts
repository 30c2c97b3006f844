import { DECIMAL_SCALE } from './column-type.js';

/** A field whose value the files cannot hold, or whose bytes are not those of its type. */
class FieldValueError extends Error {
  override readonly name = 'FieldValueError';
}

/** Microseconds from 1970 to 2000, where Postgres counts from, as two halves: the whole is beyond 2^53 after 2255. */
const EPOCH_HIGH = Math.floor(946_684_800_000_000 / 2 ** 32);
const EPOCH_LOW = 946_684_800_000_000 % 2 ** 32;
const DIGIT_HIGH = Buffer.alloc(256);
const DIGIT_LOW = Buffer.alloc(256);
for (let byte = 0; byte < 256; byte++)
  Buffer.from(byte.toString(16).padStart(2, '0')).copy(DIGIT_HIGH, byte, 0, 1);
for (let byte = 0; byte < 256; byte++)
  Buffer.from(byte.toString(16).padStart(2, '0')).copy(DIGIT_LOW, byte, 1, 2);

/** Writes the 36 characters of a uuid. */
export function putUuid(target: Buffer, offset: number, source: Buffer, at: number): void {
  let end = offset;
  for (let n = 0; n < 16; n++) {
    if (n === 4 || n === 6 || n === 8 || n === 10) target[end++] = 45;
    const byte = source[at + n] ?? 0;
    target[end++] = DIGIT_HIGH[byte] ?? 0;
    target[end++] = DIGIT_LOW[byte] ?? 0;
  }
}

/** Writes a timestamptz as little-endian microseconds since 1970. @throws FieldValueError for infinity */
export function putMicros(target: Buffer, offset: number, source: Buffer, at: number): void {
  const high = source.readInt32BE(at);
  const low = source.readUInt32BE(at + 4) + EPOCH_LOW;
  if (high === 0x7fffffff || high === -0x80000000)
    throw new FieldValueError('exporting a time failed: it is infinite');
  target.writeUInt32LE(low % 2 ** 32, offset);
  target.writeInt32LE(high + EPOCH_HIGH + (low >= 2 ** 32 ? 1 : 0), offset + 4);
}

/** Writes an int8. */
export function putInt64(target: Buffer, offset: number, source: Buffer, at: number): void {
  target.writeInt32LE(source.readInt32BE(at + 4), offset);
  target.writeInt32LE(source.readInt32BE(at), offset + 4);
}

/** Writes a float8. */
export function putDouble(target: Buffer, offset: number, source: Buffer, at: number): void {
  target.writeDoubleLE(source.readDoubleBE(at), offset);
}

const NEGATIVE = 0x4000;
const POSITIVE = 0;
const MAX_EXACT_INTEGER = 900_000;

/** Writes a numeric(18,10) as a little-endian integer of 10^-10. @throws FieldValueError when it does not fit */
export function putDecimal(target: Buffer, offset: number, source: Buffer, at: number): void {
  const groups = source.readUInt16BE(at);
  const weight = source.readInt16BE(at + 2);
  const sign = source.readUInt16BE(at + 4);
  if (sign !== POSITIVE && sign !== NEGATIVE)
    throw new FieldValueError('exporting a decimal failed: it is NaN or infinite');
  let integer = 0;
  let fraction = 0;
  for (let n = 0; n < groups; n++) {
    const digits = source.readUInt16BE(at + 8 + 2 * n);
    const power = weight - n;
    if (power >= 0) integer += digits * 10_000 ** power;
    else fraction += fractionOf(digits, power);
  }
  if (integer >= 10 ** 8 || !Number.isInteger(fraction))
    throw new FieldValueError(
      'exporting a decimal failed: it has more than 8 digits before the point or 10 after it',
    );
  const isNegative = sign === NEGATIVE;
  if (integer < MAX_EXACT_INTEGER) putNumber(target, offset, integer * 10 ** 10 + fraction, isNegative);
  else {
    const value = BigInt(integer) * 10n ** 10n + BigInt(fraction);
    target.writeBigInt64LE(isNegative ? -value : value, offset);
  }
}

/** A group of four digits after the point in units of 10^-10: of the third group, two digits count. */
function fractionOf(digits: number, power: number): number {
  if (power === -1) return digits * 1_000_000;
  if (power === -2) return digits * 100;
  return power === -3 ? digits / 100 : Number.NaN;
}

function putNumber(target: Buffer, offset: number, magnitude: number, isNegative: boolean): void {
  const value = isNegative ? -magnitude : magnitude;
  const high = Math.floor(value / 2 ** 32);
  target.writeUInt32LE(value - high * 2 ** 32, offset);
  target.writeInt32LE(high, offset + 4);
}

/** A one-dimensional array's elements, in order. @throws FieldValueError for null elements and more dimensions */
export function forEachElement(
  source: Buffer,
  at: number,
  visit: (at: number, length: number, index: number) => void,
): number {
  const dimensions = source.readInt32BE(at);
  if (dimensions === 0) return 0;
  if (dimensions !== 1)
    throw new FieldValueError(`exporting an array failed: it has ${dimensions} dimensions`);
  const count = source.readInt32BE(at + 12);
  let next = at + 20;
  for (let index = 0; index < count; index++) {
    const length = source.readInt32BE(next);
    if (length < 0) throw new FieldValueError('exporting an array failed: an element is null');
    visit(next + 4, length, index);
    next += 4 + length;
  }
  return count;
}

/** A uuid as text. */
export function readUuid(source: Buffer, at: number): string {
  const text = Buffer.allocUnsafe(36);
  putUuid(text, 0, source, at);
  return text.toString('latin1');
}

/** A timestamptz as microseconds since 1970. @throws FieldValueError for infinity */
export function readMicros(source: Buffer, at: number): bigint {
  return readInt64With(putMicros, source, at);
}

/** An int8. */
export function readInt64(source: Buffer, at: number): bigint {
  return readInt64With(putInt64, source, at);
}

/** A numeric(18,10) as decimal text with ten digits after the point. @throws FieldValueError when it does not fit */
export function readDecimal(source: Buffer, at: number): string {
  const units = readInt64With(putDecimal, source, at);
  const digits = String(units < 0n ? -units : units).padStart(DECIMAL_SCALE + 1, '0');
  return `${units < 0n ? '-' : ''}${digits.slice(0, -DECIMAL_SCALE)}.${digits.slice(-DECIMAL_SCALE)}`;
}

function readInt64With(put: typeof putInt64, source: Buffer, at: number): bigint {
  const bytes = Buffer.allocUnsafe(8);
  put(bytes, 0, source, at);
  return bytes.readBigInt64LE();
}
