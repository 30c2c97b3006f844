import { Transform, Type } from 'class-transformer';
import { formatInstant, type Instant } from '#lib/time';
import type { Thread } from '#lib/trace-store';
import { latency, type RunField, type RunFields, time } from '../trace/render-run.js';
import { FilterText } from '../trace/run-conditions.js';
import { SELECTS } from '../trace/run-fields-v2.js';
import { Choice, Text, TextList, Time, Uuid, Whole } from '../wire/fields.js';
import { NUMBER, orNull, Perhaps, TIME, WHOLE } from '../wire/shape.js';

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

  @Whole({ min: 1, max: 1_000, fallback: PAGE, about: `Most traces of a page, which has at most ${PAGE}` })
  @Type(() => Number)
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
