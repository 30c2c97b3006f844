/** Minimum length of a run: shorter repetitions cost more as a run than inside a bit-packed one. */
const MIN_RUN = 8;

/** Maximum number of bytes that `encodeHybrid` may write for so many values of that width. */
export function hybridBound(count: number, bitWidth: number): number {
  return 16 + Math.ceil(count / 8) * (bitWidth + 5);
}

/**
 * Encodes levels and dictionary indexes as Parquet's RLE/bit-packing hybrid: runs of one value, and groups of eight
 * values packed from the lowest bit on.
 * @param bitWidth 1 to 31
 * @returns the offset after the last byte written
 */
export function encodeHybrid(
  values: ArrayLike<number>,
  count: number,
  bitWidth: number,
  target: Uint8Array,
  offset: number,
): number {
  let end = offset;
  let at = 0;
  while (at < count) {
    const run = runLength(values, at, count);
    if (run >= MIN_RUN || at + run === count) {
      end = putVarint(target, end, run << 1);
      const value = values[at] ?? 0;
      for (let bits = 0; bits < bitWidth; bits += 8) target[end++] = value >>> bits;
      at += run;
      continue;
    }
    const from = at;
    do at += 8;
    while (at < count && runLength(values, at, Math.min(count, at + MIN_RUN)) < MIN_RUN);
    end = putVarint(target, end, (((at - from) / 8) << 1) | 1);
    end = pack(values, { from, to: at, count }, bitWidth, target, end);
  }
  return end;
}

function runLength(values: ArrayLike<number>, at: number, limit: number): number {
  const value = values[at];
  let end = at + 1;
  while (end < limit && values[end] === value) end++;
  return end - at;
}

/** Values past `count` fill the last group of eight with zeros. */
function pack(
  values: ArrayLike<number>,
  { from, to, count }: { from: number; to: number; count: number },
  bitWidth: number,
  target: Uint8Array,
  offset: number,
): number {
  let end = offset;
  let waiting = 0;
  let bits = 0;
  for (let at = from; at < to; at++) {
    // arithmetic instead of shifts: up to 38 bits wait
    waiting += (at < count ? (values[at] ?? 0) : 0) * 2 ** bits;
    for (bits += bitWidth; bits >= 8; bits -= 8) {
      target[end++] = waiting % 256;
      waiting = Math.floor(waiting / 256);
    }
  }
  return end;
}

function putVarint(target: Uint8Array, offset: number, value: number): number {
  let end = offset;
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) target[end++] = (rest & 0x7f) | 0x80;
  target[end++] = rest;
  return end;
}
