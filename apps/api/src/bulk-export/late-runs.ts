import { randomUUID } from 'node:crypto';
import { PublicError } from '#lib/errors';
import { findLateRunsProblem } from '#lib/export-plan';
import { parseFilter } from '#lib/filter-language';
import type { Draft } from '#lib/kube';
import {
  ANNOTATION,
  type BulkExport,
  type BulkExportRun,
  idOf,
  LABEL,
  MANAGED_BY,
  REASON,
} from '#lib/resources';
import { formatInstant, type Instant, parseInstant } from '#lib/time';
import type { LateCount, TraceStore, UnknownLate } from '#lib/trace-store';
import type { LateDayAnswer, LateRunsAnswer } from './export-answer.js';

const UNKNOWN: Readonly<Record<UnknownLate, 'too_long' | 'no_mark'>> = {
  'too long': 'too_long',
  'no mark': 'no_mark',
};

/** An export for a count of its late runs, with its runs by the time of their window. */
export interface FormerExport {
  readonly bulkExport: BulkExport;
  readonly runs: readonly BulkExportRun[];
}

/**
 * Counts the late runs of an export, by day.
 * @throws PublicError bad_request for an export that has none, not_found when its project was deleted
 */
export async function reportLateRuns(
  { exportCounts, projects }: Pick<TraceStore, 'exportCounts' | 'projects'>,
  tenantId: string,
  former: FormerExport,
): Promise<LateRunsAnswer> {
  requireLate(former);
  const { bulkExport, runs } = former;
  const projectId = bulkExport.status?.tracingProjectId ?? '';
  if (!(await projects.find(tenantId, { id: projectId })))
    throw new PublicError('not_found', `Tracing project with ID ${projectId} not found`);
  const { filter } = bulkExport.spec;
  const counts = await exportCounts.countLate(
    runs.map(({ metadata, spec }) => ({
      tenantId,
      projectId,
      runUid: metadata.uid ?? '',
      startTime: instant(spec.startTime),
      endTime: instant(spec.endTime),
      ...(filter === undefined ? {} : { filter: parseFilter(filter) }),
    })),
  );
  const known = counts.filter((one): one is LateCount => typeof one === 'object');
  const found = known.filter(({ rows }) => rows > 0);
  return {
    bulk_export_id: idOf(bulkExport) ?? '',
    late_runs: known.reduce((sum, { rows }) => sum + rows, 0),
    exact: known.length === counts.length,
    first_start_time: text(found[0]?.first),
    last_start_time: text(found.at(-1)?.last),
    days: runs.map((run, at) => renderDay(run, counts[at] ?? 'no mark')),
  };
}

/**
 * The export of the late runs of an export.
 * @param keepsWebhook whether the webhook of that one can still be called as it asks
 * @throws PublicError bad_request for an export that has none, or whose read rows are unknown
 */
export async function lateExportDraft(
  { exportProgress }: Pick<TraceStore, 'exportProgress'>,
  namespace: string,
  former: FormerExport,
  keepsWebhook: boolean,
): Promise<Draft<BulkExport>> {
  requireLate(former);
  const { bulkExport, runs } = former;
  const progress = await exportProgress.list(runs.map(({ metadata: { uid = '' } }) => uid));
  const unmarked = runs.find(({ metadata: { uid = '' } }) => progress.get(uid)?.hasMark !== true);
  const id = idOf(bulkExport) ?? '';
  if (unmarked)
    throw new PublicError(
      'bad_request',
      `finding the late runs of export ${id} failed: nothing says what its run of ${unmarked.spec.startTime} has read, which an earlier version or another database made; make a new export of its window`,
    );
  const { spec, status } = bulkExport;
  const {
    last: _last,
    sourceExport: _schedule,
    continues: _before,
    resources: _both,
    webhook,
    ...fixed
  } = spec;
  const ownId = randomUUID();
  return {
    metadata: {
      name: `late-${ownId.slice(0, 13)}`,
      namespace,
      annotations: { [ANNOTATION.id]: ownId },
      labels: { [LABEL.managedBy]: MANAGED_BY },
    },
    spec: {
      ...fixed,
      startTime: status?.startTime,
      endTime: status?.endTime,
      ...(webhook && keepsWebhook ? { webhook } : {}),
      lateRunsOf: { id },
      cancel: false,
      suspend: false,
    },
  };
}

function requireLate({ bulkExport, runs }: FormerExport): void {
  const id = idOf(bulkExport) ?? '';
  const problem = findLateRunsProblem({ id, former: bulkExport, runs, late: undefined });
  if (problem)
    throw new PublicError(
      problem.reason === REASON.predecessorMissing ? 'not_found' : 'bad_request',
      problem.message,
    );
}

function renderDay({ spec }: BulkExportRun, count: LateCount | UnknownLate): LateDayAnswer {
  const { startTime: start_time, endTime: end_time } = spec;
  return typeof count === 'object'
    ? {
        start_time,
        end_time,
        late_runs: count.rows,
        first_start_time: text(count.first),
        last_start_time: text(count.last),
        unknown: null,
      }
    : {
        start_time,
        end_time,
        late_runs: null,
        first_start_time: null,
        last_start_time: null,
        unknown: UNKNOWN[count],
      };
}

function text(time: Instant | undefined): string | null {
  return time === undefined ? null : formatInstant(time, 'if-any');
}

function instant(time: string): Instant {
  return parseInstant(time, { zone: 'required' }) ?? 0n;
}
