/** Buckets of an octave, as a power of two: a bucket is 1/64 of its lower end wide. */
const PRECISION_BITS = 6;
/** Shift within the upper half of a double: the exponent and the first bits of the fraction. */
const SHIFT = 20 - PRECISION_BITS;
/** Bucket of 1, less one. */
const BASE = 1023 << PRECISION_BITS;
/** Greater values count as this: whole numbers beyond are not exact in a double. */
const MOST = 2 ** 52;
/** Number of buckets, more than are used; a power of two. */
export const BUCKETS = 4_096;

const double = new DataView(new ArrayBuffer(8));

/** Bucket of a whole number: 0 for zero and less, else 1 and the upper bits of its double. */
export function bucketOf(value: number): number {
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
