import { isJsonObject, type JsonObject } from '#lib/json';

/** Effect of the end of a thread's time: the thread is deleted, or all its states but the last. */
export type ThreadTtlStrategy = 'delete' | 'keep_latest';

/** Lifetime of threads that ask for no time of their own. */
export interface ThreadTtlSettings {
  readonly strategy: ThreadTtlStrategy;
  /** Minutes since a thread was last changed; undefined: no limit. */
  readonly defaultMinutes: number | undefined;
  readonly sweepIntervalMinutes: number;
  /** Threads of one sweep. */
  readonly sweepLimit: number;
}

const DEFAULTS: ThreadTtlSettings = {
  strategy: 'delete',
  defaultMinutes: undefined,
  sweepIntervalMinutes: 5,
  sweepLimit: 1_000,
};

const MAX_SWEEP_MINUTES = 10_080;
const MAX_SWEEP_LIMIT = 100_000;

function isMinutes(value: unknown, most: number): value is number {
  return typeof value === 'number' && value > 0 && value <= most;
}

type Rule = (value: unknown) => string | undefined;

const TTL: Readonly<Record<string, Rule>> = {
  strategy: (value) =>
    value === 'delete' || value === 'keep_latest' ? undefined : 'must be "delete" or "keep_latest"',
  default_ttl: (value) =>
    isMinutes(value, Number.MAX_SAFE_INTEGER) ? undefined : 'must be a number of minutes above 0',
  sweep_interval_minutes: (value) =>
    isMinutes(value, MAX_SWEEP_MINUTES)
      ? undefined
      : `must be a number of minutes above 0, at most ${MAX_SWEEP_MINUTES}`,
  sweep_limit: (value) =>
    Number.isInteger(value) && isMinutes(value, MAX_SWEEP_LIMIT)
      ? undefined
      : `must be a whole number from 1 to ${MAX_SWEEP_LIMIT}`,
};

/** Unsupported parts of the setting `checkpointer`; undefined when all of it is supported. */
export function checkpointerRefusal(value: unknown): string | undefined {
  if (!isJsonObject(value)) return 'it must be an object';
  const { ttl, ...others } = value;
  const found = Object.keys(others)
    .filter((key) => others[key] !== null && !(key === 'backend' && others[key] === 'default'))
    .map((key) => `${key} cannot be used: checkpoints are kept in the database of the deployment; remove it`);
  if (ttl !== undefined && ttl !== null && !isJsonObject(ttl)) found.push('ttl must be an object');
  for (const [key, given] of Object.entries(isJsonObject(ttl) ? ttl : {})) {
    const rule = Object.hasOwn(TTL, key) ? TTL[key] : () => 'is not a known setting; remove it';
    const problem = given === null ? undefined : rule?.(given);
    if (problem) found.push(`ttl.${key} ${problem}`);
  }
  return found.length === 0 ? undefined : found.join(', ');
}

/** Reads the setting, which has been judged before. */
export function parseThreadTtl(checkpointer: unknown): ThreadTtlSettings {
  const ttl: JsonObject =
    isJsonObject(checkpointer) && isJsonObject(checkpointer['ttl']) ? checkpointer['ttl'] : {};
  const numberOf = (name: string): number | undefined =>
    typeof ttl[name] === 'number' ? ttl[name] : undefined;
  return {
    strategy: ttl['strategy'] === 'keep_latest' ? 'keep_latest' : DEFAULTS.strategy,
    defaultMinutes: numberOf('default_ttl'),
    sweepIntervalMinutes: numberOf('sweep_interval_minutes') ?? DEFAULTS.sweepIntervalMinutes,
    sweepLimit: numberOf('sweep_limit') ?? DEFAULTS.sweepLimit,
  };
}
