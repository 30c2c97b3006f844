import type { Instant } from '#lib/time';

/** Buckets of an octave, as a power of two: a bucket is 1/64 of its lower end wide. */
const PRECISION_BITS = 6;
/** Shift within the upper half of a double: the exponent and the first bits of the fraction. */
const SHIFT = 20 - PRECISION_BITS;
/** Bucket of 1, less one. */
const BASE = 1023 << PRECISION_BITS;
/** Greater values count as this: whole numbers beyond are not exact in a double. */
const MOST = 2 ** 52;
/** Number of buckets, more than are used; a power of two. */
const BUCKETS = 4_096;

const double = new DataView(new ArrayBuffer(8));

/** Bucket of a whole number: 0 for zero and less, else 1 and the upper bits of its double. */
function bucketOf(value: number): number {
  if (value < 1) return 0;
  double.setFloat64(0, Math.min(value, MOST));
  return (double.getUint32(0) >>> SHIFT) - BASE + 1;
}

/** Least value of each bucket but the first, in SQL: an array of `float8`. */
export const BUCKET_STARTS = `'{${Array.from({ length: bucketOf(MOST) }, (_none, at) => {
  const octave = at >> PRECISION_BITS;
  const part = at & ((1 << PRECISION_BITS) - 1);
  return 2 ** octave * (1 + part / 2 ** PRECISION_BITS);
}).join(',')}}'::float8[]`;

/**
 * The same in SQL, of an expression of a `float8` that is a whole number: a search by halves, which takes a fifth of what
 * taking a double apart into bytes does.
 * @param starts a column that is {@link BUCKET_STARTS}
 */
export function bucketSql(value: string, starts: string): string {
  return `width_bucket(${value}, ${starts})`;
}

/** The middle of a bucket's whole numbers; at most 0.8 % from each of them. */
function middleOf(bucket: number): number {
  if (bucket === 0) return 0;
  const octave = (bucket - 1) >> PRECISION_BITS;
  const part = (bucket - 1) & ((1 << PRECISION_BITS) - 1);
  const low = 2 ** octave * (1 + part / 2 ** PRECISION_BITS);
  return octave < PRECISION_BITS ? low : low + (2 ** (octave - PRECISION_BITS) - 1) / 2;
}

/** Counts by bucket. */
export type Distribution = readonly (readonly [bucket: number, count: number])[];

/**
 * A percentile, between two values as `percentile_cont` does.
 * @param sorted by bucket
 * @returns undefined without any value
 */
export function percentileOf(sorted: Distribution, fraction: number): number | undefined {
  const total = sorted.reduce((sum, [, count]) => sum + count, 0);
  if (total <= 0) return undefined;
  const rank = fraction * (total - 1);
  const [low, high] = [valueAt(sorted, Math.floor(rank)), valueAt(sorted, Math.ceil(rank))];
  return low + (high - low) * (rank - Math.floor(rank));
}

function valueAt(sorted: Distribution, rank: number): number {
  let seen = 0;
  for (const [bucket, count] of sorted) {
    seen += count;
    if (seen > rank) return middleOf(bucket);
  }
  return middleOf(sorted.at(-1)?.[0] ?? 0);
}

/** Totals of runs. Costs are in units of 1e-10. */
const TOTALS = [
  'runs',
  'failed',
  'streamed',
  'totalTokens',
  'promptTokens',
  'completionTokens',
  'totalCost',
  'promptCost',
  'completionCost',
] as const;
export type Total = (typeof TOTALS)[number];

/** Measures with a distribution: times in microseconds, costs in units of 1e-10. */
export const MEASURES = [
  'latency',
  'firstToken',
  'totalTokens',
  'promptTokens',
  'completionTokens',
  'totalCost',
] as const;
export type Measure = (typeof MEASURES)[number];

/** Something of every measure. */
export function eachMeasure<T>(of: (measure: Measure) => T): Readonly<Record<Measure, T>> {
  return {
    latency: of('latency'),
    firstToken: of('firstToken'),
    totalTokens: of('totalTokens'),
    promptTokens: of('promptTokens'),
    completionTokens: of('completionTokens'),
    totalCost: of('totalCost'),
  };
}

/** Facts of a run that is counted. */
export interface CountedRun {
  readonly startTime: Instant;
  readonly endTime: Instant | undefined;
  readonly firstTokenTime: Instant | undefined;
  readonly status: string;
  readonly totalTokens: number | undefined;
  readonly promptTokens: number | undefined;
  readonly completionTokens: number | undefined;
  /** Decimal texts. */
  readonly totalCost: string | undefined;
  readonly promptCost: string | undefined;
  readonly completionCost: string | undefined;
}

/** A cost in units of 1e-10, of its text with ten digits after the point. */
export function unitsOf(cost: string | undefined): bigint | undefined {
  if (cost === undefined) return undefined;
  const [whole = '0', part = ''] = cost.split('.');
  return BigInt(whole + part.slice(0, 10).padEnd(10, '0'));
}

/** The number of runs in an encoding of `encode`, or in its beginning. */
export function runsOf(encoded: Buffer): bigint {
  return readBig(encoded, { at: 0 });
}

/** Sums and distributions of some runs; of a difference they may be negative. */
export class Sums {
  /** Totals in the order of `TOTALS`. */
  readonly totals: bigint[] = TOTALS.map(() => 0n);
  /** Counts by measure and bucket; zeros are left out. */
  readonly #counts = new Map<number, number>();

  /** @param sign -1 takes the run away */
  addRun(run: CountedRun, sign: 1 | -1): void {
    const { startTime, endTime, firstTokenTime, totalTokens, promptTokens, completionTokens } = run;
    const cost = unitsOf(run.totalCost);
    const values = [
      1,
      run.status === 'error' ? 1 : 0,
      firstTokenTime === undefined ? 0 : 1,
      totalTokens,
      promptTokens,
      completionTokens,
      cost,
      unitsOf(run.promptCost),
      unitsOf(run.completionCost),
    ];
    for (const [at, value] of values.entries())
      if (value) this.totals[at] = (this.totals[at] ?? 0n) + BigInt(value) * BigInt(sign);
    const measured = [
      endTime === undefined ? undefined : Number(endTime - startTime),
      firstTokenTime === undefined ? undefined : Number(firstTokenTime - startTime),
      totalTokens,
      promptTokens,
      completionTokens,
      cost === undefined ? undefined : Number(cost),
    ];
    for (const [at, value] of measured.entries())
      if (value !== undefined) this.count(at, bucketOf(value), sign);
  }

  /** @param measure its place in `MEASURES` */
  count(measure: number, bucket: number, count: number): void {
    const key = measure * BUCKETS + bucket;
    const sum = (this.#counts.get(key) ?? 0) + count;
    if (sum === 0) this.#counts.delete(key);
    else this.#counts.set(key, sum);
  }

  addTotal(total: number, value: bigint): void {
    this.totals[total] = (this.totals[total] ?? 0n) + value;
  }

  add(other: Sums, sign: 1 | -1 = 1): void {
    for (const [at, value] of other.totals.entries()) this.addTotal(at, value * BigInt(sign));
    for (const [key, count] of other.#counts)
      this.count(Math.floor(key / BUCKETS), key % BUCKETS, count * sign);
  }

  isNothing(): boolean {
    return this.#counts.size === 0 && this.totals.every((value) => value === 0n);
  }

  total(name: Total): bigint {
    return this.totals[TOTALS.indexOf(name)] ?? 0n;
  }

  /** Distributions of all measures, sorted by bucket: computed in one pass. */
  distributions(): Readonly<Record<Measure, Distribution>> {
    const found = MEASURES.map((): [bucket: number, count: number][] => []);
    for (const [key, count] of this.#sorted()) found[Math.floor(key / BUCKETS)]?.push([key % BUCKETS, count]);
    return eachMeasure((name) => found[MEASURES.indexOf(name)] ?? []);
  }

  #sorted(): [key: number, count: number][] {
    return [...this.#counts].sort(([one], [other]) => one - other);
  }

  /** Encoding in a column: totals, then pairs of steps to the next key and counts. */
  encode(): Buffer {
    const bytes: number[] = [];
    for (const total of this.totals) writeBig(bytes, total);
    let before = 0;
    for (const [key, count] of this.#sorted()) {
      writeWhole(bytes, key - before);
      writeWhole(bytes, count < 0 ? -2 * count - 1 : 2 * count);
      before = key;
    }
    return Buffer.from(bytes);
  }

  /** Adds encoded sums. */
  addEncoded(bytes: Buffer): void {
    const at = { at: 0 };
    for (let total = 0; total < TOTALS.length; total++) this.addTotal(total, readBig(bytes, at));
    let key = 0;
    while (at.at < bytes.length) {
      key += readWhole(bytes, at);
      const count = readWhole(bytes, at);
      const isNegative = count % 2 === 1;
      const measure = Math.floor(key / BUCKETS);
      this.count(measure, key - measure * BUCKETS, isNegative ? -(count + 1) / 2 : count / 2);
    }
  }
}

/** Seven bits in a byte, the lowest first; the eighth is set when more follow. */
function writeWhole(bytes: number[], value: number): void {
  let left = value;
  while (left >= 0x80) {
    bytes.push((left % 0x80) | 0x80);
    left = Math.floor(left / 0x80);
  }
  bytes.push(left);
}

function readWhole(bytes: Buffer, place: { at: number }): number {
  let value = 0;
  let weight = 1;
  for (;;) {
    const byte = bytes[place.at++] ?? 0;
    value += (byte & 0x7f) * weight;
    if (byte < 0x80) return value;
    weight *= 0x80;
  }
}

function writeBig(bytes: number[], value: bigint): void {
  let left = value < 0n ? -2n * value - 1n : 2n * value;
  if (left <= Number.MAX_SAFE_INTEGER) {
    writeWhole(bytes, Number(left));
    return;
  }
  while (left >= 0x80n) {
    bytes.push(Number(left % 0x80n) | 0x80);
    left /= 0x80n;
  }
  bytes.push(Number(left));
}

function readBig(bytes: Buffer, place: { at: number }): bigint {
  let value = 0n;
  for (let weight = 0n; ; weight += 7n) {
    const byte = bytes[place.at++] ?? 0;
    value |= BigInt(byte & 0x7f) << weight;
    if (byte < 0x80) break;
  }
  return value % 2n === 1n ? -(value + 1n) / 2n : value / 2n;
}
