/** How long a trace is kept, as the hosted service calls it. */
export const TRACE_TIERS = ['longlived', 'shortlived'] as const;
export type TraceTier = (typeof TRACE_TIERS)[number];

/** Of runs that were stored without one, and where nobody says otherwise. */
export const DEFAULT_TIER: TraceTier = 'longlived';

export function isTraceTier(value: unknown): value is TraceTier {
  return value === 'longlived' || value === 'shortlived';
}

/** SQL of a run's tier, by the alias of the table. */
export function tierSql(table: string): string {
  return `coalesce(nullif(${table}.trace_tier, ''), '${DEFAULT_TIER}')`;
}
