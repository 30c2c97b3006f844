import { formatInstant, type Instant } from '#lib/time';
import type { Thread } from '#lib/trace-store';
import { Transform } from 'class-transformer';
import type { RunField, RunFields } from '../trace/render-run.js';
import { latency, SELECTS, time } from '../trace/run-fields.js';
import { FilterText, LOOKED_TO, UsageV2Answer } from '../trace/runs-query.js';
import { Choice, Text, TextList, Time, Uuid, Whole } from '../wire/fields.js';
import { QueryWhole } from '../wire/query-flag.js';
import {
  Answered,
  FLAG,
  JSON_VALUE,
  listOf,
  NUMBER,
  orNull,
  Perhaps,
  TEXT,
  TIME,
  UUID,
  WHOLE,
} from '../wire/shape.js';

const withoutValue: RunField = { of: () => null };

/** Fields that the selects of runs have too. */
const COMMON = [
  'THREAD_ID',
  'NAME',
  'START_TIME',
  'END_TIME',
  'INPUTS',
  'OUTPUTS',
  'ERROR',
  'TOTAL_TOKENS',
  'PROMPT_TOKENS',
  'COMPLETION_TOKENS',
  'TOTAL_COST',
  'PROMPT_COST',
  'COMPLETION_COST',
];
const WITHOUT_VALUE = [
  'OP',
  'INPUTS_PREVIEW',
  'OUTPUTS_PREVIEW',
  'ERROR_PREVIEW',
  'PROMPT_TOKEN_DETAILS',
  'COMPLETION_TOKEN_DETAILS',
  'PROMPT_COST_DETAILS',
  'COMPLETION_COST_DETAILS',
];

/** Fields of a trace by the names of `selects`. */
const TRACE_SELECTS: ReadonlyMap<string, readonly [name: string, RunField]> = new Map<
  string,
  readonly [string, RunField]
>([
  ['TRACE_ID', ['trace_id', { of: (row) => row.traceId }]],
  ...COMMON.flatMap((select): [string, readonly [string, RunField]][] => {
    const field = SELECTS.get(select);
    return field ? [[select, field]] : [];
  }),
  ['LATENCY', ['latency', { of: latency }]],
  ['FIRST_TOKEN_TIME', ['first_token_time', { of: (row) => time(row.firstTokenTime) }]],
  ...WITHOUT_VALUE.map((select): [string, readonly [string, RunField]] => [
    select,
    [select.toLowerCase(), withoutValue],
  ]),
]);

/** `trace_id` and the fields of these selects. */
export function traceFields(selects: readonly string[] | undefined): RunFields {
  return new Map(
    [...TRACE_SELECTS].flatMap(([select, field]) =>
      select === 'TRACE_ID' || selects?.includes(select) ? [field] : [],
    ),
  );
}

function timeOfThreadTotals(instant: Instant | undefined): string | null {
  return instant === undefined ? null : formatInstant(instant);
}

function cost(text: string | undefined): number | null {
  return text === undefined ? null : Number(text);
}

/** Sums of the traces of a thread, by the names of `selects`. */
const TOTALS = {
  TURNS: ['turns', ({ traces }) => traces],
  FIRST_START_TIME: ['first_start_time', ({ firstStartTime }) => timeOfThreadTotals(firstStartTime)],
  LAST_START_TIME: ['last_start_time', ({ lastStartTime }) => timeOfThreadTotals(lastStartTime)],
  LAST_END_TIME: ['last_end_time', ({ lastEndTime }) => timeOfThreadTotals(lastEndTime)],
  LATENCY_P50: ['latency_p50_seconds', ({ latencyP50 }) => latencyP50],
  LATENCY_P99: ['latency_p99_seconds', ({ latencyP99 }) => latencyP99],
  PROMPT_TOKENS: ['prompt_tokens', ({ promptTokens }) => promptTokens],
  PROMPT_COST: ['prompt_cost', ({ promptCost }) => cost(promptCost)],
  COMPLETION_TOKENS: ['completion_tokens', ({ completionTokens }) => completionTokens],
  COMPLETION_COST: ['completion_cost', ({ completionCost }) => cost(completionCost)],
  TOTAL_TOKENS: ['total_tokens', ({ totalTokens }) => totalTokens],
  TOTAL_COST: ['total_cost', ({ totalCost }) => cost(totalCost)],
  PROMPT_TOKEN_DETAILS: ['prompt_token_details', () => null],
  COMPLETION_TOKEN_DETAILS: ['completion_token_details', () => null],
  PROMPT_COST_DETAILS: ['prompt_cost_details', () => null],
  COMPLETION_COST_DETAILS: ['completion_cost_details', () => null],
  FEEDBACK_STATS: ['feedback_stats', () => null],
} satisfies Record<string, readonly [name: keyof ThreadStatsAnswer, of: (thread: Thread) => unknown]>;

/** Everything that `selects` may name. */
const THREAD_TOTALS: readonly string[] = Object.keys(TOTALS);

/** Sums of the traces of a thread, with the fields that `selects` names. */
export class ThreadStatsAnswer {
  @Perhaps(WHOLE, 'Traces') readonly turns?: number;
  @Perhaps(TIME) readonly first_start_time?: string;
  @Perhaps(TIME) readonly last_start_time?: string;
  @Perhaps(orNull(TIME), 'Null while all of them last') readonly last_end_time?: string | null;
  @Perhaps(orNull(NUMBER)) readonly latency_p50_seconds?: number | null;
  @Perhaps(orNull(NUMBER)) readonly latency_p99_seconds?: number | null;
  @Perhaps(WHOLE) readonly prompt_tokens?: number;
  @Perhaps(orNull(NUMBER)) readonly prompt_cost?: number | null;
  @Perhaps(WHOLE) readonly completion_tokens?: number;
  @Perhaps(orNull(NUMBER)) readonly completion_cost?: number | null;
  @Perhaps(WHOLE) readonly total_tokens?: number;
  @Perhaps(orNull(NUMBER)) readonly total_cost?: number | null;
  @Perhaps(orNull(NUMBER), 'Null: details are not summed') readonly prompt_token_details?: null;
  @Perhaps(orNull(NUMBER), 'Likewise') readonly completion_token_details?: null;
  @Perhaps(orNull(NUMBER), 'Likewise') readonly prompt_cost_details?: null;
  @Perhaps(orNull(NUMBER), 'Likewise') readonly completion_cost_details?: null;
  @Perhaps(orNull(NUMBER), 'Null: feedback is not summed yet') readonly feedback_stats?: null;
}

export function renderThreadTotals(thread: Thread, selects: readonly string[]): ThreadStatsAnswer {
  const wanted = Object.entries(TOTALS).filter(([select]) => selects.includes(select));
  return Object.fromEntries(wanted.map(([, [name, of]]) => [name, of(thread) ?? null]));
}

/** A page of either wire. */
const PAGE = 100;

/** Body of `POST /runs/group`. */
export class RunGroupsRequest {
  @Uuid({ required: true, about: 'Tracing project' })
  session_id: string;

  @Choice(['conversation'], { required: true, about: 'By thread' })
  group_by: 'conversation';

  @FilterText('Condition on the roots of the traces')
  filter?: string | null;

  @Time({ about: 'Traces that began then or later' })
  start_time?: string | null;

  @Time({ about: 'Traces that began then or earlier' })
  end_time?: string | null;

  @Whole({ min: 0, max: 1_000_000, fallback: 0, about: 'Threads to skip' })
  offset?: number | null;

  @Whole({ min: 1, max: 2_147_483_647, fallback: PAGE, about: `Most threads; a page has at most ${PAGE}` })
  limit?: number | null;
}

/** Body of `POST /api/v2/threads/query`. */
export class ThreadsQueryRequest {
  @Uuid({ required: true, about: 'Tracing project' })
  project_id: string;

  @Time({ about: 'Traces that began then or later; a day ago when absent' })
  min_start_time?: string | null;

  @Time({ about: 'Traces that began before' })
  max_start_time?: string | null;

  @FilterText('Condition on the roots of the traces')
  filter?: string | null;

  @FilterText('The same; both must hold')
  trace_filter?: string | null;

  @FilterText('Condition that some run of a trace holds')
  tree_filter?: string | null;

  @Text({ maxLength: 4_000, about: 'next_cursor of the page before' })
  cursor?: string | null;

  @Whole({ min: 1, max: 1_000, fallback: PAGE, about: `Most threads of a page, which has at most ${PAGE}` })
  page_size?: number | null;
}

function many({ value }: { readonly value: unknown }): unknown {
  return typeof value === 'string' ? value.split(',') : value;
}

/** Query of `GET /api/v2/threads/{thread_id}/traces`. */
export class ThreadTracesQuery {
  @Uuid({ required: true, about: 'Tracing project of the thread' })
  project_id: string;

  @FilterText('Condition on the roots of the traces')
  filter?: string;

  @FilterText('The same; both must hold')
  trace_filter?: string;

  @FilterText('Condition that some run of a trace holds')
  tree_filter?: string;

  @TextList({
    maxSize: TRACE_SELECTS.size,
    choices: [...TRACE_SELECTS.keys()],
    about: 'Fields to answer beside trace_id',
  })
  @Transform(many)
  selects?: string[];

  @Text({ maxLength: 200, about: 'next_cursor of the page before' })
  cursor?: string;

  @QueryWhole({
    min: 1,
    max: 1_000,
    fallback: PAGE,
    about: `Most traces of a page, which has at most ${PAGE}`,
  })
  page_size?: number;
}

/** Query of `GET /api/v2/threads/{thread_id}/stats`. */
export class ThreadStatsQuery {
  @Uuid({ required: true, about: 'Tracing project of the thread' })
  session_id: string;

  @TextList({
    required: true,
    minSize: 1,
    maxSize: THREAD_TOTALS.length,
    choices: THREAD_TOTALS,
    about: 'What to answer',
  })
  @Transform(many)
  selects: string[];

  @FilterText('Condition on the roots of the traces')
  filter?: string;
}

const PARTIAL =
  'True where the thread has more than 1,000 traces: latencies, tokens, costs and failures are those of the newest 1,000';

/** A thread in the first API: sums of the traces with the same thread id. */
class RunGroupAnswer {
  @Answered(TEXT) readonly group_key: string;
  @Answered(TEXT) readonly thread_id: string;
  @Answered(TEXT, 'Finds its runs') readonly filter: string;
  @Answered(WHOLE, 'Traces') readonly count: number;
  @Perhaps(FLAG, PARTIAL) readonly is_partial?: true;
  @Answered(WHOLE) readonly total_tokens: number;
  @Answered(orNull(TEXT), 'Decimal') readonly total_cost: string | null;
  @Answered(TIME) readonly min_start_time: string;
  @Answered(TIME) readonly max_start_time: string;
  @Answered(orNull(NUMBER), 'Seconds') readonly latency_p50: number | null;
  @Answered(orNull(NUMBER), 'Seconds') readonly latency_p99: number | null;
  @Answered(JSON_VALUE, 'Null: feedback is not summed yet') readonly feedback_stats: null;
  @Answered(TEXT, 'The beginning of the inputs of the first trace') readonly first_inputs: string;
  @Answered(TEXT, 'The beginning of the outputs of the last trace') readonly last_outputs: string;
  @Answered(orNull(TEXT), 'The beginning of the last error') readonly last_error: string | null;
}

export class RunGroupsAnswer {
  @Answered(listOf(() => RunGroupAnswer)) readonly groups: readonly RunGroupAnswer[];
  @Answered(WHOLE, 'How many there are, those of other pages with them') readonly total: number;
}

/** A thread on the second wire. */
class ThreadAnswer {
  @Answered(TEXT) readonly thread_id: string;
  @Answered(WHOLE, 'Traces') readonly count: number;
  @Perhaps(FLAG, PARTIAL) readonly is_partial?: true;
  @Answered(WHOLE, 'Traces that failed') readonly num_errored_turns: number;
  @Answered(UUID, 'Of the last trace') readonly trace_id: string;
  @Answered(UUID) readonly first_trace_id: string;
  @Answered(UUID) readonly last_trace_id: string;
  @Answered(TIME, 'Of the last trace') readonly start_time: string;
  @Answered(TIME) readonly min_start_time: string;
  @Answered(TIME) readonly max_start_time: string;
  @Answered(orNull(NUMBER), 'Seconds') readonly latency_p50: number | null;
  @Answered(orNull(NUMBER), 'Seconds') readonly latency_p99: number | null;
  @Answered(WHOLE) readonly total_tokens: number;
  @Answered(orNull(NUMBER)) readonly total_cost: number | null;
  @Answered(TEXT, 'The beginning of the inputs of the first trace') readonly first_inputs: string;
  @Answered(TEXT, 'The beginning of the outputs of the last trace') readonly last_outputs: string;
  @Perhaps(TEXT, 'The beginning of the last error') readonly last_error?: string;
}

export class ThreadsPageAnswer {
  @Answered(listOf(() => ThreadAnswer)) readonly items: readonly ThreadAnswer[];
  @Answered(orNull(TEXT), 'cursor of the next page; null when there is none') readonly next_cursor:
    string | null;
}

/** The root of a trace, with the fields that `selects` names. */
class ThreadTraceAnswer extends UsageV2Answer {
  @Answered(UUID) readonly trace_id: string;
  @Perhaps(TEXT) readonly thread_id?: string;
  @Perhaps(TEXT) readonly name?: string;
  @Perhaps(TIME) readonly start_time?: string;
  @Perhaps(orNull(TIME)) readonly end_time?: string | null;
  @Perhaps(orNull(NUMBER), 'Seconds') readonly latency?: number | null;
  @Perhaps(orNull(TIME)) readonly first_token_time?: string | null;
  @Perhaps(JSON_VALUE) readonly inputs?: unknown;
  @Perhaps(JSON_VALUE) readonly outputs?: unknown;
  @Perhaps(orNull(TEXT)) readonly error?: string | null;
}

export class ThreadTracesAnswer {
  @Answered(listOf(() => ThreadTraceAnswer), 'By start time') readonly items: readonly ThreadTraceAnswer[];
  @Answered(orNull(TEXT), 'cursor of the next page; null when there is none') readonly next_cursor:
    string | null;
  @Perhaps(TIME, LOOKED_TO) readonly looked_to?: string;
}

function partial({ isPartial }: Thread): { readonly is_partial?: true } {
  return isPartial ? { is_partial: true } : {};
}

export function renderGroup(thread: Thread): RunGroupAnswer {
  return {
    group_key: thread.threadId,
    thread_id: thread.threadId,
    filter: `eq(thread_id, ${JSON.stringify(thread.threadId)})`,
    count: thread.traces,
    total_tokens: thread.totalTokens,
    total_cost: thread.totalCost ?? null,
    min_start_time: formatInstant(thread.firstStartTime),
    max_start_time: formatInstant(thread.lastStartTime),
    latency_p50: thread.latencyP50 ?? null,
    latency_p99: thread.latencyP99 ?? null,
    feedback_stats: null,
    first_inputs: thread.firstInputs ?? '',
    last_outputs: thread.lastOutputs ?? '',
    last_error: thread.lastError ?? null,
    ...partial(thread),
  };
}

export function renderThread(thread: Thread): ThreadAnswer {
  const [first, last] = [formatInstant(thread.firstStartTime), formatInstant(thread.lastStartTime)];
  return {
    thread_id: thread.threadId,
    count: thread.traces,
    num_errored_turns: thread.failed,
    trace_id: thread.lastTraceId,
    first_trace_id: thread.firstTraceId,
    last_trace_id: thread.lastTraceId,
    start_time: last,
    min_start_time: first,
    max_start_time: last,
    latency_p50: thread.latencyP50 ?? null,
    latency_p99: thread.latencyP99 ?? null,
    total_tokens: thread.totalTokens,
    total_cost: thread.totalCost === undefined ? null : Number(thread.totalCost),
    first_inputs: thread.firstInputs ?? '',
    last_outputs: thread.lastOutputs ?? '',
    ...(thread.lastError === undefined ? {} : { last_error: thread.lastError }),
    ...partial(thread),
  };
}
