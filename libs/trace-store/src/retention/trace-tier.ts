/** Retention classes of a trace, in the hosted service's names. */
export const TRACE_TIERS = ['longlived', 'shortlived'] as const;
export type TraceTier = (typeof TRACE_TIERS)[number];

/** Tier of runs that were stored without one, and of those for which none is set. */
export const DEFAULT_TIER: TraceTier = 'longlived';

export function isTraceTier(value: unknown): value is TraceTier {
  return value === 'longlived' || value === 'shortlived';
}

/** SQL of a run's tier, by the alias of the table. */
export function tierSql(table: string): string {
  return `coalesce(nullif(${table}.trace_tier, ''), '${DEFAULT_TIER}')`;
}
