type Values = Readonly<Record<string, unknown>>;

/** `memory_mb` → `memoryMb` */
export function camelCase(snake: string): string {
  return snake.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}

/** `memoryMb` → `memory_mb` */
export function snakeCase(camel: string): string {
  return camel.replace(/[A-Z]/g, (upper) => `_${upper.toLowerCase()}`);
}

/** The same values under camelCase names, without those that are null or absent. Only the first level is renamed. */
export function fromWire(values: object | null | undefined): Values {
  const named = Object.entries(values ?? {}).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(named.map(([name, value]) => [camelCase(name), withoutNulls(value)]));
}

/** The same values under snake_case names. Only the first level is renamed. */
export function toWire(values: object | null | undefined): Values {
  return Object.fromEntries(
    Object.entries(values ?? {}).map(([name, value]) => [snakeCase(name), value as unknown]),
  );
}

/** Kubernetes takes absent fields, not null ones; instances of request classes become plain values. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([, entry]) => entry !== null && entry !== undefined);
  return Object.fromEntries(kept.map(([name, entry]) => [name, withoutNulls(entry)]));
}
