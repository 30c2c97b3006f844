import type { Thread } from '#lib/trace-store';
import { formatInstant } from '#lib/time';
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
import { LOOKED_TO, UsageV2Answer } from '../trace/runs-query-answer.js';

const PARTIAL =
  'True where the thread has more than 1,000 traces: latencies, tokens, costs and failures are those of the newest 1,000';

/** A thread in the first API: sums of the traces with the same thread id. */
export class RunGroupAnswer {
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
export class ThreadAnswer {
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
export class ThreadTraceAnswer extends UsageV2Answer {
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
