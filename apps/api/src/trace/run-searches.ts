import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { type Filter, FILTER_LIMITS, FilterError, lookupsOf, parseFilter } from '#lib/filter-language';
import { isUuid } from '#lib/resources';
import { parseInstant, type Instant } from '#lib/time';
import type { RunFilters, RunPage, RunSearch, StoredRun, TraceStore } from '#lib/trace-store';
import { invalid } from '../wire/request-pipe.js';
import { missingProject, missingRun } from './missing-run.js';
import { parseCursor } from './all-runs.js';
import { hasChildren, hasFeedback, hasTotals, payloadsOf, type RunFields } from './render-run.js';

/** Filters by their names on the wire. */
export interface AskedFilters {
  readonly filter?: string | null | undefined;
  readonly trace_filter?: string | null | undefined;
  readonly tree_filter?: string | null | undefined;
  /** Text that the run has somewhere. */
  readonly query?: string | null | undefined;
}

/** Conditions on runs, in either API. */
export interface WantedRuns extends Omit<RunSearch, 'from' | 'to' | 'filters'> {
  readonly from?: string | null | undefined;
  readonly to?: string | null | undefined;
  readonly filters: AskedFilters;
}

/** Contents of a request for a list. */
export interface AskedRuns extends WantedRuns {
  readonly fields: RunFields;
  readonly isAscending: boolean;
  readonly limit: number;
  readonly cursor?: string | null | undefined;
}

/** Payloads of one page. */
const MAX_PAGE_BYTES = 16 * 1024 * 1024;

/** Finds runs for a caller, in the projects that its key reaches. */
export class RunSearches {
  constructor(private readonly store: Pick<TraceStore, 'runs' | 'projects' | 'retention'>) {}

  /**
   * @param hold receives the bytes of the payloads before they are read
   * @throws PublicError not_found (a project), bad_request, invalid
   */
  async page(caller: Caller, asked: AskedRuns, hold: (bytes: number) => void): Promise<RunPage> {
    const { fields, isAscending, limit, cursor, ...wanted } = asked;
    const search = await this.searchOf(caller, wanted);
    if (!search) return { runs: [], next: undefined };
    const after = cursor ? parseCursor(cursor) : undefined;
    return this.store.runs.search(caller.tenantId, search, {
      order: isAscending ? 'ascending' : 'descending',
      after,
      limit,
      hold,
      fields: payloadsOf(fields),
      feedback: hasFeedback(fields),
      totals: hasTotals(fields),
      children: hasChildren(fields),
      maxBytes: MAX_PAGE_BYTES,
    });
  }

  /**
   * The search in the store.
   * @returns undefined when the caller reaches no project
   * @throws PublicError not_found (a project), bad_request, invalid
   */
  async searchOf(caller: Caller, wanted: WantedRuns): Promise<RunSearch | undefined> {
    const { filters, from, to, ...search } = wanted;
    requireUuids('id', search.ids);
    requireUuids('reference_example', search.referenceExampleIds);
    const projectIds = await this.#reached(caller, search.projectIds);
    if (projectIds?.length === 0) return undefined;
    return { ...search, projectIds, from: instant(from), to: instant(to), filters: parseFilters(filters) };
  }

  /** The one run of that id in the project. @throws PublicError not_found, bad_request */
  async one(
    caller: Caller,
    {
      id,
      projectId,
      fields,
      startTime,
    }: {
      readonly id: string;
      readonly projectId: string;
      readonly fields: RunFields;
      /** Start time that the caller gave. */
      readonly startTime?: string | undefined;
    },
    hold: (bytes: number) => void,
  ): Promise<StoredRun> {
    const asked = { projectIds: [projectId], ids: [id], fields, isAscending: true, limit: 1, filters: {} };
    const [found] = (await this.page(caller, { ...asked, mayNameTraces: true }, hold)).runs;
    if (!found) throw await missingRun(this.store, caller.tenantId, id, instant(startTime));
    return found;
  }

  /**
   * The projects that are read: a deployment's own key reaches its own.
   * @throws PublicError not_found for a project that is not the caller's
   */
  async #reached(
    caller: Caller,
    asked: readonly string[] | undefined,
  ): Promise<readonly string[] | undefined> {
    requireUuids('session', asked);
    const wanted = asked && [...new Set(asked.map((id) => id.toLowerCase()))];
    const { tenantId } = caller;
    if (caller.scope === 'deployment') {
      const own = await this.store.projects.find(tenantId, { name: caller.project });
      const other = wanted?.find((id) => id !== own?.id);
      if (other !== undefined) throw new PublicError('not_found', `Session with ID ${other} not found`);
      return own ? [own.id] : [];
    }
    if (!wanted) return undefined;
    const found = await this.store.projects.findAll(
      tenantId,
      wanted.map((id) => ({ kind: 'id', id })),
    );
    const missing = wanted.find((id) => !found.some((one) => one.id === id));
    if (missing !== undefined) throw await missingProject(this.store, tenantId, missing);
    return wanted;
  }
}

function instant(text: string | null | undefined): Instant | undefined {
  return text ? parseInstant(text, { zone: 'optional' }) : undefined;
}

function requireUuids(name: string, ids: readonly string[] | undefined): void {
  const at = ids?.findIndex((id) => !isUuid(id)) ?? -1;
  if (at >= 0)
    throw invalid([{ loc: ['body', name, at], msg: 'Input should be a valid UUID', type: 'uuid_parsing' }]);
}

/** @throws PublicError bad_request with the problem, its place, and a correction */
function parseFilters({
  filter,
  trace_filter: traceFilter,
  tree_filter: treeFilter,
  query,
}: AskedFilters): RunFilters {
  const own = parse('filter', filter);
  // the same as search("…")
  const searched = query ? parse('query', `search(${JSON.stringify(query)})`) : undefined;
  const filters: RunFilters = {
    filter: own && searched ? { kind: 'and', conditions: [own, searched], at: 0 } : (own ?? searched),
    traceFilter: parse('trace_filter', traceFilter),
    treeFilter: parse('tree_filter', treeFilter),
  };
  const given = [filters.filter, filters.traceFilter, filters.treeFilter].filter((one) => one !== undefined);
  if (given.flatMap((one) => lookupsOf(one)).length > FILTER_LIMITS.lookups)
    throw new PublicError(
      'bad_request',
      `the filters together have more than ${FILTER_LIMITS.lookups} conditions on error, metadata, inputs, outputs, feedback or texts; split the query`,
    );
  return filters;
}

function parse(name: string, text: string | null | undefined): Filter | undefined {
  if (!text) return undefined;
  try {
    return parseFilter(text);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    throw new PublicError('bad_request', `${name}: ${error.message}`);
  }
}
