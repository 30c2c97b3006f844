import {
  Answered,
  FLAG,
  JSON_VALUE,
  object,
  orNull,
  Perhaps,
  TEXT,
  textList,
  TIME,
  UUID,
  WHOLE,
  words,
} from '../wire/shape.js';

export class StoredAnswer {
  @Answered(TEXT) readonly message: string;
}

export class ErasedAnswer {
  @Answered(WHOLE, 'Runs that were deleted; none that were deleted before') readonly deleted_runs: number;
}

export class NotKeptAnswer {
  @Answered(WHOLE) readonly attachments: number;
  @Answered(WHOLE) readonly feedback: number;
}

export class StoredPartsAnswer extends StoredAnswer {
  @Perhaps(
    object(() => NotKeptAnswer),
    'How many parts were taken and not kept: attachments and feedback are not stored yet',
  )
  readonly not_kept?: NotKeptAnswer;
}

/** A run on the wire. */
export class RunAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(TEXT) readonly name: string;
  @Answered(TEXT) readonly run_type: string;
  @Answered(words(['pending', 'success', 'error', 'interrupted'])) readonly status: string;
  @Answered(UUID) readonly trace_id: string;
  @Answered(UUID, 'Id of the tracing project') readonly session_id: string;
  @Answered(TEXT) readonly dotted_order: string;
  @Answered(orNull(UUID)) readonly parent_run_id: string | null;
  @Answered(textList('uuid'), 'From the root down') readonly parent_run_ids: readonly string[];
  @Answered(orNull(textList('uuid'))) readonly child_run_ids: null;
  @Answered(orNull(textList('uuid'))) readonly direct_child_run_ids: null;
  @Answered(TIME) readonly start_time: string;
  @Answered(orNull(TIME)) readonly end_time: string | null;
  @Answered(orNull(TIME)) readonly first_token_time: string | null;
  @Answered(orNull(TEXT)) readonly error: string | null;
  @Answered(textList()) readonly tags: readonly string[];
  @Answered(WHOLE) readonly total_tokens: number;
  @Answered(WHOLE) readonly prompt_tokens: number;
  @Answered(WHOLE) readonly completion_tokens: number;
  @Answered(orNull(TEXT), 'Decimal') readonly total_cost: string | null;
  @Answered(orNull(TEXT), 'Decimal') readonly prompt_cost: string | null;
  @Answered(orNull(TEXT), 'Decimal') readonly completion_cost: string | null;
  @Answered(JSON_VALUE) readonly feedback_stats: unknown;
  @Answered(orNull(UUID)) readonly reference_example_id: string | null;
  @Answered(orNull(TEXT)) readonly trace_tier: string | null;
  @Answered(orNull(TEXT)) readonly thread_id: string | null;
  @Answered(WHOLE) readonly execution_order: number;
  @Answered(FLAG) readonly in_dataset: boolean;
  @Answered(orNull(TEXT)) readonly share_token: string | null;
  @Answered(orNull(UUID)) readonly manifest_id: string | null;
  @Answered(TEXT) readonly app_path: string;
  @Answered(JSON_VALUE) readonly inputs: unknown;
  @Answered(JSON_VALUE) readonly outputs: unknown;
  @Answered(JSON_VALUE) readonly extra: unknown;
  @Answered(JSON_VALUE) readonly events: unknown;
  @Answered(JSON_VALUE) readonly serialized: unknown;
}
