import type { Instant } from '#lib/time';
import type { RunSearch } from '../query/run-search.js';
import type { ProjectFeedback } from '../feedback/project-feedback-stats.js';
import { type Distribution, percentileOf } from '../statistics/distribution.js';
import type { KeyedSums } from '../statistics/run-statistics-table.js';
import { eachMeasure, type Measure, Sums, type Total } from '../statistics/sums.js';
import { isSummedCall } from '../run/own-usage.js';

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
export interface StatisticsWindow {
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
export function summarize(
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
export function statisticsOf(runs: Sums, usage: Sums, lastStartTime: Instant | undefined): RunStatistics {
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
