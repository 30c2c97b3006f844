import type { Queryable } from '#lib/postgres';
import { formatInstant, type Instant } from '#lib/time';
import { databaseNow } from '../database-now.js';
import type { RunRow } from '../run/stored-run.js';
import { timesOfTraces } from './key-times.js';

const HOUR = 3_600_000_000n;
/** A run that began so long ago and has not ended is not waited for. */
const LONGEST_RUN = 24n * HOUR;
/** Runs below a root that ended so long ago have lost their ends: senders flush within minutes. */
const LATEST_END = HOUR;

const ENDED_ROOTS = `
SELECT t.project_id, t.trace_id FROM runs t
WHERE t.tenant_id = $1 AND t.trace_id = ANY ($2) AND t.start_time >= $3 AND t.start_time <= $4 AND t.is_root
  AND t.end_time < $5`;

/**
 * Rows of runs whose process died are shown as interrupted: those that are pending a day after their start, or an hour after
 * the end of their root. Nothing is written, so an end that comes later counts.
 */
export async function withInterrupted(
  db: Queryable,
  tenantId: string,
  rows: readonly RunRow[],
): Promise<readonly RunRow[]> {
  const isPending = ({ status, endTime }: RunRow): boolean => status === 'pending' && endTime === undefined;
  if (!rows.some(isPending)) return rows;
  const now = await databaseNow(db);
  const isOld = ({ startTime }: RunRow): boolean => startTime < now - LONGEST_RUN;
  const left = rows.filter((row) => isPending(row) && !isOld(row) && !row.isRoot);
  const ended = await endedTraces(db, tenantId, left, now - LATEST_END);
  return rows.map((row) =>
    isPending(row) && (isOld(row) || (!row.isRoot && ended.has(traceOf(row))))
      ? { ...row, status: 'interrupted' }
      : row,
  );
}

function traceOf({ projectId, traceId }: Pick<RunRow, 'projectId' | 'traceId'>): string {
  return `${projectId} ${traceId}`;
}

/** Traces of these rows whose root ended before. */
async function endedTraces(
  db: Queryable,
  tenantId: string,
  rows: readonly RunRow[],
  before: Instant,
): Promise<ReadonlySet<string>> {
  const ids = [...new Set(rows.map(({ traceId }) => traceId))];
  const times = ids.length === 0 ? undefined : await timesOfTraces(db, tenantId, ids);
  if (!times) return new Set();
  const found = await db.query<Readonly<Record<'project_id' | 'trace_id', string>>>(ENDED_ROOTS, [
    tenantId,
    ids,
    times.first,
    times.last,
    formatInstant(before),
  ]);
  return new Set(found.rows.map((row) => traceOf({ projectId: row.project_id, traceId: row.trace_id })));
}
