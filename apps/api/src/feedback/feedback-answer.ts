import { parseJson } from '#lib/json';
import { formatInstant } from '#lib/time';
import type { StoredFeedback } from '#lib/trace-store';
import { Answered, FLAG, JSON_VALUE, orNull, TEXT, TIME, UUID } from '../wire/shape.js';

/** Feedback on the wire. */
export class FeedbackAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(TIME) readonly created_at: string;
  @Answered(TIME) readonly modified_at: string;
  @Answered(orNull(UUID), 'Null for feedback of a tracing project') readonly run_id: string | null;
  @Answered(orNull(UUID), 'Of the run; while it has not arrived, as the sender named it') readonly trace_id:
    string | null;
  @Answered(orNull(UUID), 'Tracing project; while the run has not arrived, as the sender named it')
  readonly session_id: string | null;
  @Answered(orNull(TIME), 'Of the run; while it has not arrived, as the sender named it')
  readonly start_time: string | null;
  @Answered(TEXT) readonly key: string;
  @Answered(JSON_VALUE, 'A number, a boolean or null') readonly score: number | boolean | null;
  @Answered(JSON_VALUE) readonly value: unknown;
  @Answered(JSON_VALUE, 'An object, a string or null') readonly correction: unknown;
  @Answered(orNull(TEXT)) readonly comment: string | null;
  @Answered(JSON_VALUE, 'An object with type and metadata, or null') readonly feedback_source: unknown;
  @Answered(JSON_VALUE) readonly feedback_config: unknown;
  @Answered(orNull(UUID)) readonly comparative_experiment_id: string | null;
  @Answered(orNull(UUID)) readonly feedback_group_id: string | null;
  @Answered(JSON_VALUE) readonly extra: unknown;
  @Answered(orNull(FLAG)) readonly error: boolean | null;
  @Answered(orNull(FLAG)) readonly extend_trace_retention: boolean | null;
}

export class DeletedFeedbackAnswer {
  @Answered(TEXT) readonly message: string;
}

function json(text: string | undefined): unknown {
  return text === undefined ? null : parseJson(text);
}

export function renderFeedback(feedback: StoredFeedback): FeedbackAnswer {
  return {
    id: feedback.id,
    created_at: formatInstant(feedback.createdAt),
    modified_at: formatInstant(feedback.modifiedAt),
    run_id: feedback.runId ?? null,
    trace_id: feedback.traceId ?? null,
    session_id: feedback.projectId ?? null,
    start_time: feedback.startTime === undefined ? null : formatInstant(feedback.startTime),
    key: feedback.key,
    score: feedback.score ?? null,
    value: json(feedback.value),
    correction: json(feedback.correction),
    comment: feedback.comment ?? null,
    feedback_source: json(feedback.source),
    feedback_config: json(feedback.config),
    comparative_experiment_id: feedback.comparativeExperimentId ?? null,
    feedback_group_id: feedback.feedbackGroupId ?? null,
    extra: json(feedback.extra),
    error: feedback.isError ?? null,
    extend_trace_retention: feedback.extendsRetention ?? null,
  };
}
