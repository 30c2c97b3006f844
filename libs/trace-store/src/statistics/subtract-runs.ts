import type { Connection } from '#lib/postgres';
import { formatInstant, type Instant } from '#lib/time';
import { insertSums, SPAN } from './run-statistics-table.js';
import { sumRuns } from './sum-runs.js';

/** Place of a run. */
interface Place {
  readonly tenantId: string;
  readonly projectId: string;
  readonly startTime: Instant;
  readonly id: string;
  readonly traceId: string;
}

/**
 * Takes runs of one tenant and project, which are about to be removed, out of its sums. Their keys are locked. They are
 * summed by the server: their rows may be large.
 */
export async function subtractRuns(client: Connection, runs: readonly Place[]): Promise<void> {
  const [first] = runs;
  if (!first) return;
  const times = runs.map(({ startTime }) => formatInstant(startTime));
  const sums = await sumRuns(
    client,
    `r.tenant_id = $1 AND r.project_id = $2 AND r.start_time = ANY ($3::timestamptz[])
      AND (r.start_time, r.id, r.trace_id) IN (SELECT * FROM unnest($3::timestamptz[], $4::uuid[], $5::uuid[]))`,
    [first.tenantId, first.projectId, times, runs.map(({ id }) => id), runs.map(({ traceId }) => traceId)],
  );
  await insertSums(client, first.tenantId, sums.negated(), SPAN.unfolded);
}
