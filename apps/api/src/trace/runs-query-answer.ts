import {
  Answered,
  FLAG,
  JSON_VALUE,
  listOf,
  NUMBER,
  object,
  orNull,
  Perhaps,
  TEXT,
  textList,
  TIME,
  UUID,
  WHOLE,
} from '../wire/shape.js';
import { SelectedRunAnswer } from './run-answer.js';

/** Tokens and costs of a run on the second wire, as far as they were selected. */
export class UsageV2Answer {
  @Perhaps(WHOLE) readonly total_tokens?: number;
  @Perhaps(WHOLE) readonly prompt_tokens?: number;
  @Perhaps(WHOLE) readonly completion_tokens?: number;
  @Perhaps(orNull(NUMBER), 'Dollars') readonly total_cost?: number | null;
  @Perhaps(orNull(NUMBER), 'Dollars') readonly prompt_cost?: number | null;
  @Perhaps(orNull(NUMBER), 'Dollars') readonly completion_cost?: number | null;
}

export class CursorsAnswer {
  @Answered(orNull(TEXT), 'cursor of the next page; null when there is none') readonly next: string | null;
  @Answered(orNull(TEXT)) readonly prev: null;
}

/** Description of a page that ended before it was full. */
export const LOOKED_TO =
  'Only where a filter reads payloads and the time of a page (2.5 s) was over before it was full: runs up to this start were looked at, the cursor continues';

/** A page of runs. */
export class RunsPageAnswer {
  @Answered(listOf(() => SelectedRunAnswer), 'With the fields that select names')
  readonly runs: readonly SelectedRunAnswer[];
  @Answered(object(() => CursorsAnswer)) readonly cursors: CursorsAnswer;
  @Answered(JSON_VALUE) readonly search_cursors: null;
  @Answered(orNull(TEXT)) readonly parsed_query: null;
  @Perhaps(TIME, LOOKED_TO) readonly looked_to?: string;
}

/** A run on the second wire, with the fields that `selects` names. */
export class RunV2Answer extends UsageV2Answer {
  @Perhaps(UUID) readonly id?: string;
  @Perhaps(TEXT) readonly name?: string;
  @Perhaps(TEXT) readonly run_type?: string;
  @Perhaps(TEXT) readonly status?: string;
  @Perhaps(TIME) readonly start_time?: string;
  @Perhaps(orNull(TIME)) readonly end_time?: string | null;
  @Perhaps(orNull(NUMBER)) readonly latency_seconds?: number | null;
  @Perhaps(orNull(TIME)) readonly first_token_time?: string | null;
  @Perhaps(orNull(TEXT)) readonly error?: string | null;
  @Perhaps(JSON_VALUE) readonly extra?: unknown;
  @Perhaps(JSON_VALUE, 'Of extra') readonly metadata?: unknown;
  @Perhaps(JSON_VALUE) readonly events?: unknown;
  @Perhaps(JSON_VALUE) readonly inputs?: unknown;
  @Perhaps(JSON_VALUE) readonly outputs?: unknown;
  @Perhaps(JSON_VALUE) readonly manifest?: unknown;
  @Perhaps(textList('uuid'), 'From the root down') readonly parent_run_ids?: readonly string[];
  @Perhaps(UUID) readonly project_id?: string;
  @Perhaps(UUID) readonly trace_id?: string;
  @Perhaps(orNull(TEXT)) readonly thread_id?: string | null;
  @Perhaps(TEXT) readonly dotted_order?: string;
  @Perhaps(FLAG) readonly is_root?: boolean;
  @Perhaps(FLAG, 'It stands for the root of its trace: its parent was not received in the project')
  readonly parent_missing?: boolean;
  @Perhaps(orNull(UUID)) readonly reference_example_id?: string | null;
  @Perhaps(JSON_VALUE, 'Tokens by kind, as raw; null without any') readonly prompt_token_details?: unknown;
  @Perhaps(JSON_VALUE, 'Likewise') readonly completion_token_details?: unknown;
  @Perhaps(JSON_VALUE, 'Dollars by kind, as raw; null without any') readonly prompt_cost_details?: unknown;
  @Perhaps(JSON_VALUE, 'Likewise') readonly completion_cost_details?: unknown;
  @Perhaps(orNull(UUID), 'The row of the price table that its costs are from') readonly price_model_id?:
    string | null;
  @Perhaps(textList()) readonly tags?: readonly string[];
  @Perhaps(TEXT) readonly app_path?: string;
  @Perhaps(JSON_VALUE, 'URL of each attachment by its name; null without any')
  readonly attachments?: unknown;
  @Perhaps(FLAG) readonly is_in_dataset?: boolean;
  @Perhaps(JSON_VALUE, 'By key, as on the first wire') readonly feedback_stats?: unknown;
}

/** A page of runs on the second wire. */
export class RunsPageV2Answer {
  @Answered(listOf(() => RunV2Answer)) readonly items: readonly RunV2Answer[];
  @Answered(FLAG) readonly has_more: boolean;
  @Answered(orNull(TEXT), 'cursor of the next page; null when there is none') readonly next_cursor:
    string | null;
  @Perhaps(TIME, LOOKED_TO) readonly looked_to?: string;
}

/** The runs of a trace. */
export class TraceRunsAnswer {
  @Answered(listOf(() => RunV2Answer), 'By start time') readonly items: readonly RunV2Answer[];
}
