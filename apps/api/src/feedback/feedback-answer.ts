import { formatInstant } from '#lib/time';
import type { StoredFeedback } from '#lib/trace-store';
import { Answered, FLAG, JSON_VALUE, orNull, TEXT, TIME, UUID } from '../wire/shape.js';
import { jsonWith } from '../wire/stored-json.js';

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

/** JSON text of a {@link FeedbackAnswer}: members that are stored as JSON are answered as they are. */
export function renderFeedback(feedback: StoredFeedback): string {
  const answer = {
    id: feedback.id,
    created_at: formatInstant(feedback.createdAt),
    modified_at: formatInstant(feedback.modifiedAt),
    run_id: feedback.runId ?? null,
    trace_id: feedback.traceId ?? null,
    session_id: feedback.projectId ?? null,
    start_time: feedback.startTime === undefined ? null : formatInstant(feedback.startTime),
    key: feedback.key,
    score: feedback.score ?? null,
    comment: feedback.comment ?? null,
    comparative_experiment_id: feedback.comparativeExperimentId ?? null,
    feedback_group_id: feedback.feedbackGroupId ?? null,
    error: feedback.isError ?? null,
    extend_trace_retention: feedback.extendsRetention ?? null,
  };
  return jsonWith(answer, {
    value: feedback.value,
    correction: feedback.correction,
    feedback_source: feedback.source,
    feedback_config: feedback.config,
    extra: feedback.extra,
  });
}

/** Bytes of the members of an answer that are not stored texts. */
const BYTES_EACH = 1_000;

/**
 * Memory of these rows and the answer made of them: every stored text twice, as two bytes a character at
 * worst.
 */
export function heldBytes(found: readonly StoredFeedback[]): number {
  const texts = found.flatMap(({ value, correction, comment, source, config, extra }) => [
    value,
    correction,
    comment,
    source,
    config,
    extra,
  ]);
  return texts.reduce((sum, text) => sum + 4 * (text?.length ?? 0), 2 * BYTES_EACH * found.length);
}
