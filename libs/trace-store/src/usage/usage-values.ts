/** A count of tokens; undefined for what is none. */
export function tokens(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(Math.round(value)) && value >= 0
    ? Math.round(value)
    : undefined;
}

const DECIMAL = /^\d{1,20}(\.\d{0,40})?(e[+-]?\d{1,3})?$/i;

/** Costs are NUMERIC(18,10); what does not fit is dropped rather than rounded beyond recognition. */
export function cost(value: unknown): string | undefined {
  const number = typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number) || number < 0 || number >= 1e8) return undefined;
  return number.toFixed(10);
}
