import { randomUUID } from 'node:crypto';
import type { Caller } from '#lib/auth';
import { PublicError, type FieldProblem } from '#lib/errors';
import { findFilterProblem } from '#lib/filter-language';
import { countPartitions, MAX_PARTITIONS } from '#lib/export-plan';
import {
  ANNOTATION,
  type BulkExport,
  type BulkExportDestination,
  type BulkExportRun,
  type BulkExportSpec,
  idOf,
  LABEL,
  MANAGED_BY,
} from '#lib/resources';
import { type Clock, formatInstant, instantOf, MICROS_PER_DAY, parseInstant } from '#lib/time';
import { type TraceStore } from '#lib/trace-store';
import type { ResourceHome } from '../kubernetes/resource-home.js';
import type { TenantHome, Workspaces } from '../tenancy/workspaces.js';
import { invalid } from '../wire/request-pipe.js';
import { requireExportPlan } from './destinations.js';
import type { ExportAnswer, ExportRunAnswer } from './export-answer.js';
import { changeOf } from './change-export.js';
import {
  type CreateExportRequest,
  type ExportsQuery,
  type ListedExportsQuery,
  MAX_LISTED,
  type PatchExportRequest,
} from './export-request.js';
import { ExportHistory, type ExportOwner, type FoundExport } from './export-history.js';
import type { RepeatKey } from './repeat-key.js';
import { isListed } from './is-listed.js';
import { renderExport, renderExportRun } from './render-export.js';

export interface ExportHomes {
  readonly exports: ResourceHome<BulkExport>;
  readonly runs: ResourceHome<BulkExportRun>;
  readonly destinations: ResourceHome<BulkExportDestination>;
}

/** Exports of a workspace: writes what should be, reads what is. */
export class BulkExports {
  readonly #history: ExportHistory;

  constructor(
    private readonly homes: ExportHomes,
    private readonly workspaces: Workspaces,
    private readonly store: Pick<TraceStore, 'projects' | 'exportProgress' | 'exportArchive'>,
    private readonly clock: Pick<Clock, 'now'>,
  ) {
    this.#history = new ExportHistory(homes.exports, homes.runs, store.exportArchive);
  }

  /**
   * @param repeatKey of the caller: a request that repeats one is answered with what that one made
   * @throws PublicError conflict when another body was sent with the key
   */
  async create(caller: Caller, request: CreateExportRequest, repeatKey?: RepeatKey): Promise<ExportAnswer> {
    const { namespace } = this.#home(caller);
    const problems = [...windowProblems(request, this.clock.now()), ...filterProblems(request)];
    if (problems.length > 0) throw invalid(problems);
    const destinationId = request.bulk_export_destination_id.toLowerCase();
    const destination = this.homes.destinations.find(namespace, destinationId);
    if (!destination) throw new PublicError('not_found', `Destination with ID ${destinationId} not found`);
    const sessionId = request.session_id.toLowerCase();
    if (!(await this.store.projects.find(caller.tenantId, { id: sessionId })))
      throw new PublicError('not_found', `Session with ID ${sessionId} not found`);
    const id = randomUUID();
    const spec = buildExportSpec(request, destination.metadata.name, sessionId) as BulkExportSpec;
    const draft = {
      metadata: {
        name: `export-${id.slice(0, 13)}`,
        namespace,
        annotations: { [ANNOTATION.id]: id },
        labels: { [LABEL.managedBy]: MANAGED_BY },
      },
      spec,
    };
    if (!repeatKey) return this.#render(caller, { bulkExport: await this.homes.exports.create(draft) });
    const archived = (name: string): Promise<FoundExport | undefined> =>
      this.#history.findArchived(this.#owner(caller), name);
    return this.#render(caller, await repeatKey.createOnce({ home: this.homes.exports, archived }, draft));
  }

  async list(caller: Caller, query: ListedExportsQuery): Promise<readonly ExportAnswer[]> {
    const { offset = 0, limit = MAX_LISTED, status } = query;
    const page = await this.#history.list(this.#owner(caller), {
      ...{ offset, limit, status },
      isListed: (bulkExport) => isListed(this.#render(caller, { bulkExport }), query),
      after: query.after === undefined ? undefined : await this.#export(caller, query.after.toLowerCase()),
      destinationId: query.bulk_export_destination_id,
      projectId: query.session_id,
      sourceId: query.source_bulk_export_id,
    });
    return page.map((one) => this.#render(caller, one));
  }

  async get(caller: Caller, id: string): Promise<ExportAnswer> {
    return this.#render(caller, await this.#export(caller, id));
  }

  async change(caller: Caller, id: string, request: PatchExportRequest): Promise<ExportAnswer> {
    const found = await this.#export(caller, id);
    const { bulkExport } = found;
    const change = changeOf(bulkExport, request);
    if (!change) return this.#render(caller, found);
    const { name, namespace = '' } = bulkExport.metadata;
    const changed = await this.homes.exports.change({ namespace, name }, (current) => ({
      ...current,
      spec: { ...current.spec, ...change },
    }));
    return this.#render(caller, { bulkExport: changed });
  }

  /** By time of their window, oldest first. */
  async listRuns(caller: Caller, id: string, query: ExportsQuery): Promise<readonly ExportRunAnswer[]> {
    const { offset = 0, limit = Infinity } = query;
    const found = await this.#export(caller, id);
    const runs = await this.#history.runsOf(this.#owner(caller), found);
    return this.#renderRuns(found.bulkExport, runs.slice(offset, offset + limit));
  }

  async getRun(caller: Caller, id: string, runId: string): Promise<ExportRunAnswer> {
    const found = await this.#export(caller, id);
    const runs = await this.#history.runsOf(this.#owner(caller), found);
    const run = runs.find((one) => idOf(one) === runId);
    const [rendered] = run ? await this.#renderRuns(found.bulkExport, [run]) : [];
    if (!rendered) throw new PublicError('not_found', `Export run with ID ${runId} not found`);
    return rendered;
  }

  #home(caller: Caller): TenantHome {
    return requireExportPlan(this.workspaces.homeOf(caller.tenantId));
  }

  #owner({ tenantId }: Caller): ExportOwner {
    return { tenantId: tenantId.toLowerCase(), namespace: this.workspaces.homeOf(tenantId).namespace };
  }

  /** @throws PublicError not_found, the same for missing and foreign ones */
  async #export(caller: Caller, id: string): Promise<FoundExport> {
    const found = await this.#history.find(this.#owner(caller), id);
    if (!found) throw new PublicError('not_found', `Bulk export with ID ${id} not found`);
    return found;
  }

  async #renderRuns(
    bulkExport: BulkExport,
    runs: readonly BulkExportRun[],
  ): Promise<readonly ExportRunAnswer[]> {
    const uids = runs.map((run) => run.metadata.uid ?? '');
    const [progress, keys] = await Promise.all([
      this.store.exportProgress.list(uids),
      this.store.exportProgress.keys(uids),
    ]);
    return runs.map((run) => {
      const uid = run.metadata.uid ?? '';
      return renderExportRun(run, idOf(bulkExport) ?? '', progress.get(uid), keys.get(uid) ?? []);
    });
  }

  #render(caller: Caller, { bulkExport, archived }: FoundExport): ExportAnswer {
    const { namespace = '' } = bulkExport.metadata;
    const destination = this.homes.destinations.findByName(namespace, bulkExport.spec.destinationRef.name);
    return renderExport(bulkExport, {
      tenantId: caller.tenantId,
      destinationId: (archived ? archived.destinationId : destination && idOf(destination)) ?? null,
      now: this.clock.now(),
    });
  }
}

function filterProblems({ filter }: CreateExportRequest): readonly FieldProblem[] {
  const problem = filter ? findFilterProblem(filter) : undefined;
  return problem ? [{ loc: ['body', 'filter'], msg: problem.message, type: 'filter_invalid' }] : [];
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

/** The spec of a new export. Times without a zone are UTC. */
function buildExportSpec(
  request: CreateExportRequest,
  destinationName: string,
  sessionId: string,
): Partial<BulkExportSpec> {
  const { end_time, interval_hours, filter, format_version, compression, export_fields } = request;
  return {
    destinationRef: { name: destinationName },
    tracingProject: { id: sessionId },
    startTime: instant(request.start_time),
    ...(end_time ? { endTime: instant(end_time) } : {}),
    ...(interval_hours ? { intervalHours: interval_hours } : {}),
    ...(filter ? { filter } : {}),
    ...(format_version ? { formatVersion: format_version } : {}),
    ...(compression ? { compression: compression === 'zstandard' ? 'zstd' : compression } : {}),
    ...(export_fields ? { exportFields: export_fields as BulkExportSpec['exportFields'] } : {}),
  };
}
