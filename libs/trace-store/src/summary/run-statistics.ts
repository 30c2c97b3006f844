import type { Instant } from '#lib/time';
import type { RunSearch } from '../query/run-search.js';
import type { ProjectFeedback } from '../feedback/project-feedback-stats.js';
import { percentileOf } from '../statistics/distribution.js';
import type { KeyedSums } from '../statistics/run-statistics-table.js';
import { type Measure, Sums, type Total } from '../statistics/sums.js';

/** What some runs add up to. */
export interface RunStatistics {
  /** Of runs, of those that failed, and of those whose first token is known. */
  readonly counts: Readonly<Record<'runs' | 'failed' | 'streamed', number>>;
  readonly tokens: Readonly<Record<'totalTokens' | 'promptTokens' | 'completionTokens', number>>;
  /** Decimal texts; undefined where no run has a cost. */
  readonly costs: Readonly<Record<'totalCost' | 'promptCost' | 'completionCost', string>> | undefined;
  /**
   * Within 0.8 %; undefined where no run has such a value.
   * @returns seconds, tokens, or a cost
   */
  percentile(measure: Measure, fraction: number): number | undefined;
  readonly lastStartTime: Instant | undefined;
  /** Of a project alone. */
  readonly feedback?: ProjectFeedback | undefined;
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
   * What the runs that are wanted add up to.
   * @throws PublicError bad_request when finding them takes longer than a few seconds, or they are of too many hours
   */
  ofRuns(tenantId: string, search: RunSearch): Promise<RunStatistics>;
  /**
   * What each of these projects adds up to.
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
    if (isRoot === true && key.runType === 'llm') calls.add(sums);
  }
  return statisticsOf(runs, calls, lastStartTime);
}

/** @param usage of which tokens and costs are taken */
export function statisticsOf(runs: Sums, usage: Sums, lastStartTime: Instant | undefined): RunStatistics {
  const count = (name: Total): number => Number(runs.total(name));
  const tokens = (name: Total): number => Number(usage.total(name));
  const hasCosts = usage.distribution('totalCost').length > 0;
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
    percentile(measure, fraction) {
      const from = measure === 'latency' || measure === 'firstToken' ? runs : usage;
      const value = percentileOf(from.distribution(measure), fraction);
      return value === undefined ? undefined : value / UNITS_OF[measure];
    },
    lastStartTime,
  };
}
