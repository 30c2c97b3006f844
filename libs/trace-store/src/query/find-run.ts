import { inTransaction, type Pool, type Queryable } from '#lib/postgres';
import { isUuid } from '#lib/resources';
import { feedbackStats } from '../feedback/feedback-stats.js';
import type { PayloadStore } from '../run/payload-store.js';
import { findPlaces, findRoots } from '../run/run-keys.js';
import { selectRuns } from '../run/run-table.js';
import { withChildren } from './with-children.js';
import { withInterrupted } from './with-interrupted.js';
import { withTotals } from './with-totals.js';
import type { StoredRun } from '../run/stored-run.js';
import type { RunOptions } from '../trace-store.js';

/**
 * The run with its payloads, or the root of the trace of that id; undefined also for another tenant's. For an
 * id that occurs in several traces, any of them is returned.
 */
export async function findRun(
  db: Queryable,
  payloads: Pick<PayloadStore, 'get' | 'size'>,
  { tenantId, id, projectId, hold }: { readonly tenantId: string; readonly id: string } & RunOptions,
): Promise<StoredRun | undefined> {
  if (!isUuid(id)) return undefined;
  const wanted = id.toLowerCase();
  const [found] = await findPlaces(db, tenantId, [{ id: wanted, traceId: undefined }], { projectId });
  const scope = projectId === undefined ? undefined : [projectId];
  const place = found ?? (await findRoots(db, tenantId, [wanted], scope)).get(wanted);
  const isHidden = projectId !== undefined && place?.projectId !== projectId;
  const [row] = place && !isHidden ? await selectRuns(db, tenantId, [place]) : [];
  if (!row) return undefined;
  hold?.(await payloads.size(db, row));
  const stats = (await feedbackStats(db, tenantId, [row])).get(0) ?? undefined;
  return { row, payloads: await payloads.get(db, row), feedbackStats: stats };
}

/** The same, with totals on request. */
export async function readRun(
  pool: Pool,
  payloads: Pick<PayloadStore, 'get' | 'size'>,
  options: { readonly tenantId: string; readonly id: string } & RunOptions,
): Promise<StoredRun | undefined> {
  const found = await findRun(pool, payloads, options);
  if (!found) return undefined;
  const ended = await withInterrupted(pool, options.tenantId, [found.row]);
  const [row = found.row] = options.totals
    ? await inTransaction(pool, (db) => withTotals(db, options.tenantId, ended), ['BEGIN READ ONLY'])
    : ended;
  const run = { ...found, row };
  return options.children ? (await withChildren(pool, options.tenantId, [run], options.hold))[0] : run;
}
