import type { Caller } from '#lib/auth';
import { type FieldProblem, PublicError } from '#lib/errors';
import { countPartitions, MAX_PARTITIONS } from '#lib/export-plan';
import { findFilterProblem } from '#lib/filter-language';
import type { BulkExportDestination, BulkExportSpec } from '#lib/resources';
import { formatInstant, instantOf, MICROS_PER_DAY, parseInstant } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import type { ResourceHome } from '../kubernetes/resource-home.js';
import type { Workspaces } from '../tenancy/workspaces.js';
import { invalid } from '../wire/request-pipe.js';
import { isVendors, requireExportPlan } from './destinations.js';
import { findDestination } from './change-export.js';
import type { CreateExportRequest } from './export-request.js';
import type { ExportWebhooks } from './export-webhooks.js';
import { wrongValue } from '../wire/request-pipe.js';

/** Dependencies of the checks of a request for an export. */
export interface ExportRequestWorld {
  readonly destinations: Pick<ResourceHome<BulkExportDestination>, 'find'>;
  readonly workspaces: Pick<Workspaces, 'homeOf'>;
  readonly projects: Pick<TraceStore['projects'], 'find'>;
  readonly webhooks: Pick<ExportWebhooks, 'problems'>;
  readonly now: Date;
}

/** A valid request for an export. */
export interface CheckedExport {
  readonly namespace: string;
  /** Id of the tracing project, in lower case. */
  readonly sessionId: string;
  readonly spec: BulkExportSpec;
  /** True when the destination was created in the words of LangSmith. */
  readonly isVendors: boolean;
}

/** @throws PublicError invalid with every problem, not_found, conflict, forbidden for a plan without exports */
export async function checkExportRequest(
  caller: Caller,
  request: CreateExportRequest,
  { destinations, workspaces, projects, webhooks, now }: ExportRequestWorld,
): Promise<CheckedExport> {
  const { namespace } = requireExportPlan(workspaces.homeOf(caller.tenantId));
  const problems = [
    ...windowProblems(request, now),
    ...projectProblems(request),
    ...filterProblems(request),
    ...filesProblems(request),
    ...(await webhooks.problems(request.webhook ?? undefined)),
  ];
  if (problems.length > 0) throw invalid(problems);
  const destination = findDestination(destinations, namespace, request.bulk_export_destination_id);
  const sessionId = request.session_id?.toLowerCase() ?? '';
  if (!(await projects.find(caller.tenantId, { id: sessionId })))
    throw new PublicError('not_found', `Session with ID ${sessionId} not found`);
  const spec = buildExportSpec(request, destination.metadata.name, sessionId) as BulkExportSpec;
  return { namespace, sessionId, spec, isVendors: isVendors(destination) };
}

/** A request for all experiments names no project, and is told what to do instead. */
function projectProblems({ all_experiments, session_id }: CreateExportRequest): readonly FieldProblem[] {
  if (all_experiments)
    return [
      wrongValue(
        ['body', 'all_experiments'],
        'an export is of one tracing project; name an experiment in session_id, and make an export for each (GET /api/v1/sessions?reference_free=false lists them)',
      ),
    ];
  return session_id ? [] : [{ loc: ['body', 'session_id'], msg: 'Field required', type: 'missing' }];
}

function filterProblems({ filter }: CreateExportRequest): readonly FieldProblem[] {
  const problem = filter ? findFilterProblem(filter) : undefined;
  return problem ? [{ loc: ['body', 'filter'], msg: problem.message, type: 'filter_invalid' }] : [];
}

function filesProblems({
  format,
  compression,
  resources,
  page_bytes,
  table,
}: CreateExportRequest): readonly FieldProblem[] {
  const problem = (field: string, msg: string): FieldProblem => wrongValue(['body', field], msg);
  return [
    ...(format === 'JSONL' && compression === 'snappy'
      ? [problem('compression', 'JSONL has no compression snappy; use zstd, gzip or none')]
      : []),
    ...(format === 'JSONL' && table ? [problem('table', 'a table needs Parquet; leave it out')] : []),
    ...(format === 'JSONL' && page_bytes ? [problem('page_bytes', 'JSONL has no pages; leave it out')] : []),
    ...(resources && !resources.includes('runs') ? [problem('resources', 'List should have runs')] : []),
  ];
}

/** Rules between fields. */
function windowProblems(request: CreateExportRequest, now: Date): readonly FieldProblem[] {
  const isScheduled = (request.interval_hours ?? undefined) !== undefined;
  const end = request.end_time ?? undefined;
  const loc = ['body', 'end_time'];
  if (isScheduled && end !== undefined)
    return [{ loc, msg: 'end_time must be omitted for scheduled exports', type: 'value_error' }];
  if (!isScheduled && end === undefined) return [{ loc, msg: 'Field required', type: 'missing' }];
  const [from, to] = [request.start_time, end].map((text) =>
    text === undefined ? undefined : parseInstant(text, { zone: 'optional' }),
  );
  if (from !== undefined && to !== undefined && to <= from)
    return [{ loc, msg: 'end_time must be after start_time', type: 'value_error' }];
  if (isScheduled && from !== undefined && instantOf(now) - from > BigInt(MAX_PARTITIONS) * MICROS_PER_DAY) {
    const msg = `A schedule may begin at most ${MAX_PARTITIONS} days back`;
    return [{ loc: ['body', 'start_time'], msg, type: 'window_too_long' }];
  }
  const days = from === undefined || to === undefined ? 0 : countPartitions({ start: from, end: to });
  if (days <= MAX_PARTITIONS) return [];
  const msg = `The window spans ${days} days; at most ${MAX_PARTITIONS} are exported at once`;
  return [{ loc, msg, type: 'window_too_long' }];
}

function instant(text: string): string {
  const micros = parseInstant(text, { zone: 'optional' });
  return micros === undefined ? text : formatInstant(micros);
}

const FORMATS = { Parquet: 'parquet', JSONL: 'jsonl' } as const;

/** The spec of a new export. Times without a zone are UTC. */
function buildExportSpec(
  request: CreateExportRequest,
  destinationName: string,
  sessionId: string,
): Partial<BulkExportSpec> {
  const { end_time, interval_hours, filter, format, format_version, compression, export_fields } = request;
  return {
    destinationRef: { name: destinationName },
    tracingProject: { id: sessionId },
    startTime: instant(request.start_time),
    ...(end_time ? { endTime: instant(end_time) } : {}),
    ...(interval_hours ? { intervalHours: interval_hours } : {}),
    ...(filter ? { filter } : {}),
    ...(format ? { format: FORMATS[format] } : {}),
    ...(format_version ? { formatVersion: format_version } : {}),
    ...(compression ? { compression } : {}),
    ...(request.table ? { table: request.table } : {}),
    ...(request.page_bytes ? { pageBytes: request.page_bytes } : {}),
    ...(request.resources ? { resources: [...new Set(request.resources)] } : {}),
    ...(export_fields ? { exportFields: export_fields as BulkExportSpec['exportFields'] } : {}),
  };
}
