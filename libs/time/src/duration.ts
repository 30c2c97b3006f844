const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `500ms`, `30s`, `10m`, `24h` or `7d` in milliseconds. */
export function parseDuration(text: string): number {
  const found = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text);
  const unit = found?.[2];
  if (!found || unit === undefined || !isUnit(unit)) throw new Error('must look like 30s, 10m, 24h or 7d');
  return Number(found[1]) * UNIT_MS[unit];
}

function isUnit(text: string): text is keyof typeof UNIT_MS {
  return Object.hasOwn(UNIT_MS, text);
}
