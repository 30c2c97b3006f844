import type { Filter } from '#lib/filter-language';
import { type Connection, type Pool, textTypes } from '#lib/postgres';
import { type Instant, parseInstant } from '#lib/time';
import { type ProjectFeedback, projectFeedbackStats } from '../feedback/feedback-stats.js';
import { filterSql, sealedPlacesSql } from '../filter/filter-sql.js';
import { lightFilters, payloadsOf } from '../filter/payload-filters.js';
import { limitedReadOfSealed, type SealedLoader, type SealedPlaces } from '../lake/sealed-loader.js';
import { limitedRead, type ReadLimit } from '../limited-read.js';
import { deletedProjects } from '../project/project-deletions.js';
import { keyConditions, Parameters, runConditions, type RunSearch } from '../query/run-search.js';
import { isSummedCall, isSummedCallSql } from '../run/own-usage.js';
import {
  addSumsRow,
  hourOf,
  isSummedType,
  KeyedSums,
  MICROS_PER_HOUR,
  type SumsRow,
} from '../statistics/run-statistics-table.js';
import { readSums, sumRuns } from '../statistics/sum-runs.js';
import {
  type Distribution,
  eachMeasure,
  type Measure,
  percentileOf,
  Sums,
  type Total,
} from '../statistics/sums.js';

/** Sums of some runs. */
export interface RunStatistics {
  /** Numbers of runs, of those that failed, and of those whose first token is known. */
  readonly counts: Readonly<Record<'runs' | 'failed' | 'streamed', number>>;
  readonly tokens: Readonly<Record<'totalTokens' | 'promptTokens' | 'completionTokens', number>>;
  /** Decimal texts; undefined when no run has a cost. */
  readonly costs: Readonly<Record<'totalCost' | 'promptCost' | 'completionCost', string>> | undefined;
  readonly percentiles: Readonly<Record<Measure, Percentiles>>;
  readonly lastStartTime: Instant | undefined;
  /** Feedback of a project alone. */
  readonly feedback?: ProjectFeedback | undefined;
}

/** Seconds, tokens, or a cost, within 0.8 %; undefined when no run has such a value. */
export interface Percentiles {
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

/** A time that is summed up, with those of its projects. */
interface StatisticsWindow {
  readonly isRoot?: boolean | undefined;
  /** They began then or later. */
  readonly from?: Instant | undefined;
  /** They began then or earlier. */
  readonly to?: Instant | undefined;
}

export interface Statistics {
  /**
   * Sums of the runs that match the search.
   * @throws PublicError bad_request when finding them takes longer than a few seconds, or they are of too
   * many hours
   */
  ofRuns(tenantId: string, search: RunSearch): Promise<RunStatistics>;
  /**
   * Sums of each of these projects.
   * @throws PublicError bad_request when they are of too many hours
   */
  ofProjects(
    tenantId: string,
    projectIds: readonly string[],
    window: StatisticsWindow,
  ): Promise<ReadonlyMap<string, RunStatistics>>;
}

/** Units of a cost. */
const UNITS = 10_000_000_000n;

/** A sum of units of 1e-10 as a decimal text without zeros at its end. */
function decimalOf(units: bigint): string {
  const part = String(units % UNITS).padStart(10, '0');
  return `${units / UNITS}.${part}`.replace(/\.?0+$/, '');
}

const UNITS_OF: Readonly<Record<Measure, number>> = {
  latency: 1e6,
  firstToken: 1e6,
  totalTokens: 1,
  promptTokens: 1,
  completionTokens: 1,
  totalCost: 1e10,
};

/**
 * @param isRoot whether roots alone are wanted: roots have no tokens and costs themselves, so those of all calls of
 * models are taken
 */
function summarize(
  all: KeyedSums,
  {
    isRoot,
    lastStartTime,
  }: { readonly isRoot: boolean | undefined; readonly lastStartTime: Instant | undefined },
): RunStatistics {
  const runs = new Sums();
  const calls = isRoot === true ? new Sums() : runs;
  for (const { key, sums } of all.entries()) {
    if (isRoot === undefined || key.isRoot === isRoot) runs.add(sums);
    if (isRoot === true && isSummedCall(key.runType)) calls.add(sums);
  }
  return statisticsOf(runs, calls, lastStartTime);
}

/**
 * Plain values: distributions of ten thousands of counts are not kept until an answer is written.
 * @param usage of which tokens and costs are taken
 */
function statisticsOf(runs: Sums, usage: Sums, lastStartTime: Instant | undefined): RunStatistics {
  const count = (name: Total): number => Number(runs.total(name));
  const tokens = (name: Total): number => Number(usage.total(name));
  const own = runs.distributions();
  const ofUsage = usage === runs ? own : usage.distributions();
  const hasCosts = ofUsage.totalCost.length > 0;
  const of = (measure: Measure): Percentiles =>
    percentilesOf(measure, (measure === 'latency' || measure === 'firstToken' ? own : ofUsage)[measure]);
  return {
    counts: { runs: count('runs'), failed: count('failed'), streamed: count('streamed') },
    tokens: {
      totalTokens: tokens('totalTokens'),
      promptTokens: tokens('promptTokens'),
      completionTokens: tokens('completionTokens'),
    },
    costs: hasCosts
      ? {
          totalCost: decimalOf(usage.total('totalCost')),
          promptCost: decimalOf(usage.total('promptCost')),
          completionCost: decimalOf(usage.total('completionCost')),
        }
      : undefined,
    percentiles: eachMeasure(of),
    lastStartTime,
  };
}

function percentilesOf(measure: Measure, sorted: Distribution): Percentiles {
  const [p50, p99] = [0.5, 0.99].map((fraction) => {
    const value = percentileOf(sorted, fraction);
    return value === undefined ? undefined : value / UNITS_OF[measure];
  });
  return { p50, p99 };
}

/** True when the search asks for nothing but projects, a time, roots, and types that are summed. */
function isSummed(search: RunSearch): boolean {
  const { projectIds, isRoot: _isRoot, from: _from, to: _to, runType, ...others } = search;
  const isPlain = Object.values({ ...others, ...others.filters, filters: undefined }).every(
    (value) => value === undefined,
  );
  return projectIds !== undefined && isPlain && (runType === undefined || isSummedType(runType));
}

/** Tells whether all runs that meet the search are roots. */
function asksForRoots({ isRoot, filters }: RunSearch): boolean {
  const isOfRoots = (filter: Filter): boolean =>
    filter.kind === 'and'
      ? filter.conditions.some(isOfRoots)
      : filter.kind === 'compare' &&
        filter.field === 'is_root' &&
        (filter.operator === 'eq'
          ? filter.values[0] === true
          : filter.operator === 'neq' && filter.values[0] === false);
  return isRoot === true || (filters?.filter !== undefined && isOfRoots(filters.filter));
}

/** One snapshot for all statements of an answer: a condition that no index serves may read every run of a project. */
const LIMIT: ReadLimit = {
  what: 'Adding up these runs',
  advice: 'ask for fewer projects, a shorter time or one trace',
  isOneMoment: true,
};

function inSnapshot<T>(pool: Pool, work: (client: Connection) => Promise<T>): Promise<T> {
  return limitedRead(pool, work, LIMIT);
}

/** Sums of the runs that match the search. @throws PublicError bad_request */
export function statisticsOfRuns(
  pool: Pool,
  tenantId: string,
  search: RunSearch,
  sealed?: SealedLoader,
): Promise<RunStatistics> {
  const { isRoot, runType } = search;
  if (!isSummed(search))
    return limitedReadOfSealed(
      pool,
      sealed,
      () => sealedPlaces(tenantId, search),
      (client, readsSealed) => ofFoundRuns(client, tenantId, search, readsSealed),
      LIMIT,
    );
  return inSnapshot(pool, async (client) => {
    const sums = await sumsOf(client, tenantId, search.projectIds ?? [], search);
    const lastStartTime = await lastStart(client, tenantId, search);
    if (runType === undefined) return summarize(sums, { isRoot, lastStartTime });
    const ofType = new Sums();
    for (const { key, sums: one } of sums.entries())
      if (key.runType === runType && (isRoot === undefined || key.isRoot === isRoot)) ofType.add(one);
    return statisticsOf(ofType, ofType, lastStartTime);
  });
}

/** Sums of each of these projects. @throws PublicError bad_request */
export function statisticsOfProjects(
  pool: Pool,
  tenantId: string,
  projectIds: readonly string[],
  window: StatisticsWindow,
): Promise<ReadonlyMap<string, RunStatistics>> {
  return inSnapshot(pool, async (client) => {
    const sums = await sumsOf(client, tenantId, projectIds, window);
    const feedback = await projectFeedbackStats(client, tenantId, projectIds, window.from);
    const found = new Map<string, RunStatistics>();
    for (const projectId of projectIds) {
      const search = { ...window, projectIds: [projectId] };
      const lastStartTime = await lastStart(client, tenantId, search);
      const ofRuns = summarize(sums.ofProject(projectId), { isRoot: window.isRoot, lastStartTime });
      found.set(projectId, { ...ofRuns, feedback: feedback.get(projectId) });
    }
    return found;
  });
}

/**
 * Sums of a time by project, root and type: whole hours as they are kept, the rest at both ends from the
 * runs.
 */
async function sumsOf(
  client: Connection,
  tenantId: string,
  projectIds: readonly string[],
  { from, to }: StatisticsWindow,
): Promise<KeyedSums> {
  const sums = new KeyedSums();
  const first = from === undefined ? undefined : hourOf(from + MICROS_PER_HOUR - 1n);
  const last = to === undefined ? undefined : hourOf(to + 1n);
  const add = (row: SumsRow): void => addSumsRow(sums, row, 0n);
  const addRuns = async (begin: Instant | undefined, end: Instant | undefined): Promise<void> => {
    const parameters = new Parameters();
    const projects = `r.tenant_id = ${parameters.add(tenantId)} AND r.project_id = ANY (${parameters.add(projectIds)}::uuid[])`;
    const condition = [projects, ...runConditions({ from: begin, to: end }, parameters)].join(' AND ');
    const found = await sumRuns(client, condition, parameters.values, 'types');
    for (const { key, sums: one } of found.entries()) sums.of(key).add(one);
  };
  if (first !== undefined && last !== undefined && first >= last) {
    await addRuns(from, to);
    return sums;
  }
  await readSums(client, tenantId, projectIds, { from: first, to: last }, add);
  if (first !== from && first !== undefined) await addRuns(from, first - 1n);
  if (last !== undefined && to !== undefined && last <= to) await addRuns(last, to);
  return sums;
}

/** Conditions on a run `r` of these projects: those of the search, its keys looked up first. */
function conditionOf(tenantId: string, search: RunSearch, parameters: Parameters): string {
  const tenant = parameters.add(tenantId);
  const projects = search.projectIds && `${parameters.add(search.projectIds)}::uuid[]`;
  const keys = keyConditions(search, parameters);
  return [
    `r.tenant_id = ${tenant}`,
    projects ? `r.project_id = ANY (${projects})` : `r.project_id <> ALL (${deletedProjects(tenant)})`,
    ...(keys.length > 0
      ? [
          `(r.project_id, r.start_time, r.id, r.trace_id) IN (SELECT k.project_id, k.start_time, k.id, k.trace_id
            FROM run_keys k WHERE k.tenant_id = ${tenant} AND ${keys.join(' AND ')})`,
        ]
      : []),
    ...runConditions(search, parameters),
    filterSql(search.filters ?? {}, parameters),
  ].join(' AND ');
}

/** Sealed runs whose payloads `ofFoundRuns` may read. */
function sealedPlaces(tenantId: string, search: RunSearch): SealedPlaces {
  const { filters = {}, projectIds } = search;
  const parameters = new Parameters();
  const rowsOf = (columns: string, condition: string): string =>
    `SELECT ${columns} FROM runs r WHERE ${conditionOf(tenantId, { ...search, filters: lightFilters(filters) }, parameters)} AND ${condition}`;
  const text = sealedPlacesSql(filters, rowsOf, parameters);
  return { tenantId, projectIds, fields: payloadsOf(filters), text, values: parameters.values };
}

async function ofFoundRuns(
  client: Connection,
  tenantId: string,
  search: RunSearch,
  readsSealed: boolean,
): Promise<RunStatistics> {
  const parameters = new Parameters(readsSealed);
  const condition = conditionOf(tenantId, search, parameters);
  const runs = totalOf(await sumRuns(client, condition, parameters.values, 'one'));
  const { rows } = await client.query<{ last: string | null }>({
    text: `SELECT max(r.start_time) AS last FROM runs r WHERE ${condition}`,
    values: [...parameters.values],
    types: textTypes,
  });
  const last = rows[0]?.last ? parseInstant(rows[0].last, { zone: 'optional' }) : undefined;
  if (!asksForRoots(search)) return statisticsOf(runs, runs, last);
  // calls of models in the traces of these roots, whenever they began
  const calls = `r.tenant_id = $1 AND ${isSummedCallSql('r.run_type')} AND (r.project_id, r.start_time, r.id, r.trace_id) IN (
    SELECT k.project_id, k.start_time, k.id, k.trace_id FROM run_keys k
    WHERE k.tenant_id = $1 AND (k.project_id, k.trace_id) IN (SELECT r.project_id, r.trace_id FROM runs r WHERE ${condition}))`;
  return statisticsOf(runs, totalOf(await sumRuns(client, calls, parameters.values, 'one')), last);
}

function totalOf(all: KeyedSums): Sums {
  const total = new Sums();
  for (const { sums } of all.entries()) total.add(sums);
  return total;
}

/** Start time of the last run of a time range. */
async function lastStart(
  client: Connection,
  tenantId: string,
  search: RunSearch,
): Promise<Instant | undefined> {
  const parameters = new Parameters();
  const tenant = parameters.add(tenantId);
  const projects = parameters.add(search.projectIds);
  const wanted = runConditions(search, parameters)
    .map((condition) => ` AND ${condition}`)
    .join('');
  const { rows } = await client.query<{ last: string | null }>({
    text: `SELECT max(l.start_time) AS last FROM unnest(${projects}::uuid[]) AS p(id) CROSS JOIN LATERAL (
      SELECT r.start_time FROM runs r WHERE r.tenant_id = ${tenant} AND r.project_id = p.id${wanted}
      ORDER BY r.start_time DESC LIMIT 1) l`,
    values: [...parameters.values],
    types: textTypes,
  });
  const last = rows[0]?.last;
  return last ? parseInstant(last, { zone: 'optional' }) : undefined;
}
