import { Time, Uuid } from '../wire/fields.js';
import { QueryFlag } from '../wire/query-flag.js';
import {
  JSON_VALUE,
  listOf,
  NUMBER,
  orNull,
  Answered,
  Perhaps,
  TEXT,
  textList,
  UUID,
  type Shape,
} from '../wire/shape.js';

/** ISO 8601, or milliseconds since 1970. */
const MOMENT: Shape = {
  anyOf: [{ type: 'string', format: 'date-time', nullable: true }, { type: 'number' }],
};
/** A decimal, as a number or as text. */
const COST: Shape = { anyOf: [{ type: 'string', nullable: true }, { type: 'number' }] };

/**
 * Bodies of the trace routes. They are read byte by byte by the trace store, which knows the rules between fields;
 * these classes only describe them. Members that are not listed are left out and named in the answer.
 */
export class RunUpdateRequest {
  @Perhaps(orNull(UUID)) readonly id?: string | null;
  @Perhaps(orNull(UUID)) readonly trace_id?: string | null;
  @Perhaps(orNull(UUID)) readonly parent_run_id?: string | null;
  @Perhaps(orNull(TEXT), 'TIMEZID segments, root first; must agree with the ids') readonly dotted_order?:
    string | null;
  @Perhaps(orNull(UUID), 'Id of the tracing project') readonly session_id?: string | null;
  @Perhaps(orNull(TEXT), 'Name of the tracing project, made when it is not there') readonly session_name?:
    string | null;
  @Perhaps(MOMENT) readonly start_time?: string | number | null;
  @Perhaps(MOMENT) readonly end_time?: string | number | null;
  @Perhaps(orNull(TEXT)) readonly name?: string | null;
  @Perhaps(orNull(TEXT), 'For example chain, llm, tool') readonly run_type?: string | null;
  @Perhaps(orNull(TEXT), 'Follows from end_time and error when it is another word') readonly status?:
    string | null;
  @Perhaps(orNull(textList())) readonly tags?: readonly string[] | null;
  @Perhaps(orNull(UUID)) readonly reference_example_id?: string | null;
  @Perhaps(orNull(TEXT)) readonly trace_tier?: string | null;
  @Perhaps(orNull(NUMBER)) readonly total_tokens?: number | null;
  @Perhaps(orNull(NUMBER)) readonly prompt_tokens?: number | null;
  @Perhaps(orNull(NUMBER)) readonly completion_tokens?: number | null;
  @Perhaps(COST) readonly total_cost?: string | number | null;
  @Perhaps(COST) readonly prompt_cost?: string | number | null;
  @Perhaps(COST) readonly completion_cost?: string | number | null;
  @Perhaps(JSON_VALUE) readonly inputs?: unknown;
  @Perhaps(JSON_VALUE) readonly outputs?: unknown;
  @Perhaps(JSON_VALUE) readonly extra?: unknown;
  @Perhaps(JSON_VALUE) readonly events?: unknown;
  @Perhaps(JSON_VALUE) readonly error?: unknown;
  @Perhaps(JSON_VALUE) readonly serialized?: unknown;
}

export class RunRequest extends RunUpdateRequest {
  @Perhaps(orNull(UUID), 'Required in a batch') declare readonly id?: string | null;
  @Answered(TEXT) declare readonly name: string;
  @Answered(TEXT, 'For example chain, llm, tool') declare readonly run_type: string;
}

export class AddressedRunUpdateRequest extends RunUpdateRequest {
  @Answered(UUID) declare readonly id: string;
}

export class RunBatchRequest {
  @Perhaps(orNull(listOf(() => RunRequest))) readonly post?: readonly RunRequest[] | null;
  @Perhaps(orNull(listOf(() => AddressedRunUpdateRequest))) readonly patch?:
    readonly AddressedRunUpdateRequest[] | null;
}

/** Parts are named `post.ID` or `patch.ID` (the run's object) and `post.ID.FIELD` (one of its payloads). */
export class RunMultipartRequest {
  @Perhaps(JSON_VALUE, 'A run; ID in the name is its id') readonly 'post.ID'?: unknown;
  @Perhaps(JSON_VALUE, 'An update of a run') readonly 'patch.ID'?: unknown;
  @Perhaps(JSON_VALUE, 'inputs, outputs, extra, events, error or serialized of a run')
  readonly 'post.ID.FIELD'?: unknown;
  @Perhaps(JSON_VALUE, 'The same of an update') readonly 'patch.ID.FIELD'?: unknown;
}

/** Query of `GET /runs/{id}`: hints of newer clients that help the server find the run. */
export class RunQuery {
  @Uuid({ about: 'Tracing project that the run must belong to' })
  session_id?: string;

  @Time({ about: 'Of the run; taken and without effect: runs are found by their id' })
  start_time?: string;

  @QueryFlag({ about: 'Leaves out serialized' })
  exclude_serialized?: boolean;

  @QueryFlag({ about: 'Taken and without effect: payloads are always in the answer' })
  exclude_s3_stored_attributes?: boolean;

  @QueryFlag({ about: 'Taken and without effect: messages are a part of the payloads' })
  include_messages?: boolean;
}
