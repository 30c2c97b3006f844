import { formatInstant, type Instant } from '#lib/time';
import type { Thread } from '#lib/trace-store';
import { NUMBER, orNull, Perhaps, TIME, WHOLE } from '../wire/shape.js';

function time(instant: Instant | undefined): string | null {
  return instant === undefined ? null : formatInstant(instant);
}

function cost(text: string | undefined): number | null {
  return text === undefined ? null : Number(text);
}

/** Sums of the traces of a thread, by the names of `selects`. */
const TOTALS = {
  TURNS: ['turns', ({ traces }) => traces],
  FIRST_START_TIME: ['first_start_time', ({ firstStartTime }) => time(firstStartTime)],
  LAST_START_TIME: ['last_start_time', ({ lastStartTime }) => time(lastStartTime)],
  LAST_END_TIME: ['last_end_time', ({ lastEndTime }) => time(lastEndTime)],
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
export const THREAD_TOTALS: readonly string[] = Object.keys(TOTALS);

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
