import type { Caller } from '#lib/auth';
import { invalid } from '../wire/request-pipe.js';
import { PublicError } from '#lib/errors';
import { isJsonObject, type JsonObject, parseJson } from '#lib/json';
import {
  type Project,
  type ProjectDetails,
  type RunStatistics,
  type StoredRun,
  type TraceStore,
  usageSourceOf,
} from '#lib/trace-store';
import { isUuid } from '#lib/resources';
import { parseInstant } from '#lib/time';
import { missingProject, missingRun } from './missing-run.js';
import type { UsageSourceAnswer } from './run-answer.js';
import type { ErasureRequest } from './erasure-request.js';
import type {
  CreateSessionRequest,
  SessionQuery,
  SessionsQuery,
  UpdateSessionRequest,
} from './session-request.js';

/** Reading and arranging traces of a tenant. */
export class Traces {
  constructor(
    private readonly store: Pick<
      TraceStore,
      'runs' | 'projects' | 'erasures' | 'statistics' | 'retention' | 'prices'
    >,
  ) {}

  /** Where the tokens and costs of a run come from, as it is answered. */
  async usageSource(tenantId: string, run: StoredRun): Promise<UsageSourceAnswer> {
    const { tokens, costs } = await usageSourceOf(run);
    const { model, modelMember, provider, priceId } = run.row;
    const prices = priceId === undefined ? [] : await this.store.prices.list(tenantId);
    const price = prices.find(({ id }) => id === priceId);
    return {
      tokens: tokens ?? null,
      costs: costs ?? null,
      model: model ?? null,
      model_member: modelMember ?? null,
      provider: provider ?? null,
      price: price
        ? {
            id: price.id,
            name: price.name,
            match_pattern: price.matchPattern,
            prompt_cost: price.promptCost,
            completion_cost: price.completionCost,
            built_in: price.isBuiltIn,
          }
        : null,
    };
  }

  /**
   * @param hold receives the bytes of the run before they are read
   * @throws PublicError not_found
   */
  async getRun(
    caller: Caller,
    id: string,
    projectId: string | undefined,
    hold: (bytes: number) => void,
  ): Promise<StoredRun> {
    const own = await this.#ownProject(caller);
    const isNone = caller.scope === 'deployment' && own === undefined;
    const found = isNone
      ? undefined
      : await this.store.runs.get(caller.tenantId, id, {
          ...(own ? { projectId: own.id } : {}),
          totals: true,
          children: true,
          hold,
        });
    if (!found || (projectId !== undefined && found.row.projectId !== projectId.toLowerCase()))
      throw await missingRun(this.store, caller.tenantId, id, undefined);
    return found;
  }

  /** The one project whose runs a deployment's own key may read. */
  async #ownProject(caller: Caller): Promise<Project | undefined> {
    if (caller.scope !== 'deployment') return undefined;
    return this.store.projects.find(caller.tenantId, { name: caller.project });
  }

  /** @throws PublicError not_found */
  async getProject(tenantId: string, id: string): Promise<Project> {
    const project = await this.store.projects.find(tenantId, { id });
    if (!project) throw await missingProject(this.store, tenantId, id);
    return project;
  }

  async listProjects(tenantId: string, query: SessionsQuery): Promise<readonly Project[]> {
    const metadata = query.metadata === undefined ? undefined : parseMetadata(query.metadata);
    const { reference_free: isFree, dataset_version: version, reference_dataset: datasets } = query;
    return this.store.projects.list(tenantId, {
      metadata: version === undefined ? metadata : { ...metadata, dataset_version: version },
      referenceDatasetIds: datasets,
      isExperiment: isFree === undefined ? undefined : !isFree,
      name: query.name,
      nameContains: query.name_contains,
      ids: query.id,
      limit: query.limit,
      offset: query.offset,
    });
  }

  /**
   * Sums of the traces of each project; nothing unless they are asked for.
   * @throws PublicError bad_request
   */
  async statisticsOf(
    tenantId: string,
    projects: readonly Project[],
    { include_stats: isAsked, stats_start_time: since }: SessionQuery,
  ): Promise<ReadonlyMap<string, RunStatistics>> {
    if (isAsked !== true) return new Map();
    return this.store.statistics.ofProjects(
      tenantId,
      projects.map(({ id }) => id),
      { isRoot: true, from: since ? parseInstant(since, { zone: 'optional' }) : undefined },
    );
  }

  /** @throws PublicError conflict when there is one of that name and `upsert` does not allow for it */
  async createProject(tenantId: string, request: CreateSessionRequest, upsert: boolean): Promise<Project> {
    const { projects } = this.store;
    const found = await projects.find(tenantId, { name: request.name });
    if (!found) {
      const id = request.id ?? undefined;
      const referenceDatasetId = request.reference_dataset_id?.toLowerCase();
      return projects.ensure(tenantId, request.name, { ...detailsOf(request), id, referenceDatasetId });
    }
    if (!upsert) throw new PublicError('conflict', `Session with name ${request.name} already exists`);
    return (await projects.update(tenantId, found.id, detailsOf(request))) ?? found;
  }

  /** @throws PublicError not_found; conflict when another project has the name */
  async updateProject(tenantId: string, id: string, request: UpdateSessionRequest): Promise<Project> {
    const change = { ...detailsOf(request), name: request.name ?? undefined };
    const updated = await this.store.projects.update(tenantId, id, change);
    if (!updated) throw await missingProject(this.store, tenantId, id);
    return updated;
  }

  /** @throws PublicError not_found */
  async deleteProject(tenantId: string, id: string): Promise<void> {
    if (!(await this.store.projects.delete(tenantId, id)))
      throw await missingProject(this.store, tenantId, id);
  }

  /**
   * Deletes traces of one project; that of a deployment's own key is its own, whatever it names.
   * @returns how many runs
   * @throws PublicError not_found, invalid, bad_request
   */
  async erase(caller: Caller, request: ErasureRequest): Promise<number> {
    const { trace_ids: traceIds = [], thread_ids: threadIds = [], began_by: beganBy } = request;
    if (traceIds.length + threadIds.length === 0)
      throw new PublicError('bad_request', 'trace_ids or thread_ids must name what is to be deleted');
    const at = traceIds.findIndex((id) => !isUuid(id));
    if (at >= 0)
      throw invalid([
        { loc: ['body', 'trace_ids', at], msg: 'Input should be a valid UUID', type: 'uuid_parsing' },
      ]);
    const { id } = await this.#projectToErase(caller, request.session_id ?? undefined);
    return this.store.erasures.erase(caller.tenantId, id, {
      traceIds,
      threadIds,
      // to the microsecond, as runs begin; without a zone UTC, as everywhere
      beganBy: beganBy ? parseInstant(beganBy, { zone: 'optional' }) : undefined,
    });
  }

  async #projectToErase(caller: Caller, id: string | undefined): Promise<Project> {
    if (caller.scope !== 'deployment') {
      if (id !== undefined) return this.getProject(caller.tenantId, id);
      throw invalid([{ loc: ['body', 'session_id'], msg: 'Field required', type: 'missing' }]);
    }
    const own = await this.store.projects.find(caller.tenantId, { name: caller.project });
    if (own && (id === undefined || id.toLowerCase() === own.id)) return own;
    throw new PublicError(
      'not_found',
      id === undefined
        ? `The tracing project ${caller.project} does not exist`
        : `Session with ID ${id} not found`,
    );
  }
}

/** Details of a request; clients send null for a member that they leave out. */
function detailsOf(request: UpdateSessionRequest & Pick<CreateSessionRequest, 'start_time'>): ProjectDetails {
  return {
    description: request.description ?? undefined,
    extra: request.extra ? JSON.stringify(request.extra) : undefined,
    startTime: dateOf(request.start_time),
    endTime: dateOf(request.end_time),
    traceTier: request.trace_tier ?? undefined,
  };
}

/** Times of projects have milliseconds; without a zone they are UTC. */
function dateOf(time: string | null | undefined): Date | undefined {
  const instant = time ? parseInstant(time, { zone: 'optional' }) : undefined;
  return instant === undefined ? undefined : new Date(Number(instant / 1000n));
}

/** @throws PublicError invalid */
function parseMetadata(text: string): JsonObject {
  try {
    const value: unknown = parseJson(text);
    if (isJsonObject(value)) return value;
  } catch {
    // refused below
  }
  throw invalid([{ loc: ['query', 'metadata'], msg: 'Input should be a JSON object', type: 'json_invalid' }]);
}
