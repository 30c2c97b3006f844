/** Far longer than any that means something: the time of reading one grows faster than its length. */
const MAX_LETTERS = 256;
// each digit has one place: where it could have two, a text that is no quantity takes time by the square of its length
const PATTERN = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d+)?$/;
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const DECIMAL: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const NANO = 10n ** 9n;

/** A Kubernetes quantity (`500m`, `1Gi`), exact to a billionth; smaller parts are rounded up. */
export interface Quantity {
  /** Value in billionths. */
  readonly nano: bigint;
  readonly format: 'binary' | 'decimal' | 'exponent';
}

/** Undefined for a text that is not a quantity. */
export function parseQuantity(text: string): Quantity | undefined {
  const found = text.length > MAX_LETTERS ? null : PATTERN.exec(text);
  if (found === null) return undefined;
  const [, sign, digits = '', suffix = ''] = found;
  const [whole = '', fraction = ''] = digits.split('.');
  const power = BINARY.indexOf(suffix);
  const isBinary = suffix !== '' && power > 0;
  const isExponent = /^[eE][+-]?\d/.test(suffix);
  const exponent = isBinary ? 0 : isExponent ? Number(suffix.slice(1)) : (DECIMAL[suffix] ?? 0);
  if (exponent > 40 || exponent < -40) return undefined;
  const scale = 9 + exponent - fraction.length;
  const factor = isBinary ? 1024n ** BigInt(power) : 1n;
  const number = BigInt(`${whole}${fraction}` || '0') * factor;
  const nano = scale >= 0 ? number * 10n ** BigInt(scale) : ceilDivide(number, 10n ** BigInt(-scale));
  return {
    nano: sign === '-' ? -nano : nano,
    format: isBinary ? 'binary' : isExponent ? 'exponent' : 'decimal',
  };
}

function ceilDivide(number: bigint, by: bigint): bigint {
  return (number + by - 1n) / by;
}

/** The canonical text: no fractions, the largest suffix that keeps the number whole. */
export function formatQuantity({ nano, format }: Quantity): string {
  if (nano === 0n) return '0';
  const isBinary =
    format === 'binary' && nano % NANO === 0n && (nano >= 1024n * NANO || nano <= -1024n * NANO);
  if (isBinary) return formatBinary(nano / NANO);
  let exponent = -9;
  let number = nano;
  while (number % 1000n === 0n && exponent < 18) {
    number /= 1000n;
    exponent += 3;
  }
  if (format === 'exponent') return exponent === 0 ? `${number}` : `${number}e${exponent}`;
  const suffix = Object.entries(DECIMAL).find(([, power]) => power === exponent)?.[0] ?? '';
  return `${number}${suffix}`;
}

function formatBinary(value: bigint): string {
  let power = 0;
  let number = value;
  while (number % 1024n === 0n && power < BINARY.length - 1) {
    number /= 1024n;
    power += 1;
  }
  return `${number}${BINARY[power] ?? ''}`;
}
