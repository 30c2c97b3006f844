import { parseJson } from '#lib/json';
import type { RunStatistics } from '#lib/trace-store';
import { formatInstant } from '#lib/time';
import { Answered, JSON_VALUE, NUMBER, orNull, type Shape, TEXT, TIME, WHOLE } from '../wire/shape.js';

const PERCENTILE = 'within 0.8 %; null without such a value';

/** Members of statistics: their shapes, what they are, and how they are read. */
const MEMBERS: Readonly<
  Record<string, readonly [shape: Shape, about: string, of: (found: RunStatistics) => unknown]>
> = {
  run_count: [WHOLE, 'Runs; of a project its traces', ({ counts }) => counts.runs],
  latency_p50: [orNull(NUMBER), `Seconds, ${PERCENTILE}`, ({ percentiles }) => percentiles.latency.p50],
  latency_p99: [orNull(NUMBER), `Seconds, ${PERCENTILE}`, ({ percentiles }) => percentiles.latency.p99],
  first_token_p50: [
    orNull(NUMBER),
    `Seconds, ${PERCENTILE}`,
    ({ percentiles }) => percentiles.firstToken.p50,
  ],
  first_token_p99: [
    orNull(NUMBER),
    `Seconds, ${PERCENTILE}`,
    ({ percentiles }) => percentiles.firstToken.p99,
  ],
  total_tokens: [WHOLE, 'Of roots: those of the calls of models', ({ tokens }) => tokens.totalTokens],
  prompt_tokens: [WHOLE, 'Likewise', ({ tokens }) => tokens.promptTokens],
  completion_tokens: [WHOLE, 'Likewise', ({ tokens }) => tokens.completionTokens],
  median_tokens: [
    orNull(WHOLE),
    `Of a run, ${PERCENTILE}`,
    ({ percentiles }) => whole(percentiles.totalTokens.p50),
  ],
  tokens_p99: [orNull(WHOLE), 'Likewise', ({ percentiles }) => whole(percentiles.totalTokens.p99)],
  prompt_tokens_p50: [orNull(WHOLE), 'Likewise', ({ percentiles }) => whole(percentiles.promptTokens.p50)],
  prompt_tokens_p99: [orNull(WHOLE), 'Likewise', ({ percentiles }) => whole(percentiles.promptTokens.p99)],
  completion_tokens_p50: [
    orNull(WHOLE),
    'Likewise',
    ({ percentiles }) => whole(percentiles.completionTokens.p50),
  ],
  completion_tokens_p99: [
    orNull(WHOLE),
    'Likewise',
    ({ percentiles }) => whole(percentiles.completionTokens.p99),
  ],
  last_run_start_time: [
    orNull(TIME),
    'When the last of them began',
    ({ lastStartTime }) => (lastStartTime === undefined ? null : formatInstant(lastStartTime)),
  ],
  feedback_stats: [
    JSON_VALUE,
    'Of a project: what was said of its runs, by key; null without any, and of runs that are asked for',
    ({ feedback }) => parsed(feedback?.runs),
  ],
  session_feedback_stats: [
    JSON_VALUE,
    'Of a project: what was said of itself, by key; null without any',
    ({ feedback }) => parsed(feedback?.project),
  ],
  run_facets: [JSON_VALUE, 'Always empty', () => []],
  error_rate: [orNull(NUMBER), 'Share of runs that failed', ({ counts }) => rate(counts.failed, counts.runs)],
  streaming_rate: [
    orNull(NUMBER),
    'Share of runs whose first token is known',
    ({ counts }) => rate(counts.streamed, counts.runs),
  ],
  total_cost: [orNull(TEXT), 'Decimal; null where no run has a cost', ({ costs }) => costs?.totalCost],
  prompt_cost: [orNull(TEXT), 'Likewise', ({ costs }) => costs?.promptCost],
  completion_cost: [orNull(TEXT), 'Likewise', ({ costs }) => costs?.completionCost],
  cost_p50: [
    orNull(TEXT),
    `Of a run, ${PERCENTILE}`,
    ({ percentiles }) => decimal(percentiles.totalCost.p50),
  ],
  cost_p99: [orNull(TEXT), 'Likewise', ({ percentiles }) => decimal(percentiles.totalCost.p99)],
};

function parsed(json: string | undefined): unknown {
  return json === undefined ? null : parseJson(json);
}

function whole(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.round(value);
}

function rate(part: number, runs: number): number | null {
  return runs === 0 ? null : part / runs;
}

function decimal(value: number | undefined): string | undefined {
  return value?.toFixed(10).replace(/\.?0+$/, '');
}

export function renderStatistics(found: RunStatistics): Record<string, unknown> {
  return Object.fromEntries(Object.entries(MEMBERS).map(([name, [, , of]]) => [name, of(found) ?? null]));
}

/** Adds the members of statistics to the description of an answer. */
export function describeStatistics(
  type: new () => object,
  field: (shape: Shape, about?: string) => PropertyDecorator,
): void {
  for (const [name, [shape, about]] of Object.entries(MEMBERS))
    field(shape, about)(type.prototype as object, name);
}

/** Sums of runs. */
export class RunStatisticsAnswer {}
describeStatistics(RunStatisticsAnswer, Answered);
