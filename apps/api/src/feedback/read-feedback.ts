import { randomUUID } from 'node:crypto';
import { type Instant, parseInstant } from '#lib/time';
import type { NewFeedback } from '#lib/trace-store';
import { invalid } from '../wire/request-pipe.js';
import type { CreateFeedbackRequest } from './feedback-request.js';

/** Null and undefined have no text. */
export function jsonText(value: unknown): string | undefined {
  return value === null || value === undefined ? undefined : JSON.stringify(value);
}

function id(text: string | null | undefined): string | undefined {
  return text?.toLowerCase();
}

export function instant(text: string | null | undefined): Instant | undefined {
  return text ? parseInstant(text, { zone: 'optional' }) : undefined;
}

/**
 * Feedback as the store takes it.
 * @param place of the request that it came with
 * @throws PublicError invalid
 */
export function newFeedback(
  request: CreateFeedbackRequest,
  place: readonly (string | number)[],
): NewFeedback {
  const [runId, traceId, projectId] = [id(request.run_id), id(request.trace_id), id(request.session_id)];
  if (runId === undefined && projectId === undefined)
    throw invalid([
      {
        loc: [...place, 'run_id'],
        msg: 'run_id is required, or session_id for feedback of a project',
        type: 'missing',
      },
    ]);
  if (runId === undefined && traceId !== undefined)
    throw invalid([
      { loc: [...place, 'run_id'], msg: 'run_id is required beside trace_id', type: 'missing' },
    ]);
  const { feedback_config: config, feedbackConfig } = request;
  return {
    id: id(request.id) ?? randomUUID(),
    runId,
    traceId,
    projectId,
    place,
    startTime: instant(request.start_time),
    createdAt: instant(request.created_at),
    key: request.key,
    score: request.score ?? undefined,
    value: jsonText(request.value),
    correction: jsonText(request.correction),
    comment: request.comment ?? undefined,
    source: jsonText(request.feedback_source ?? { type: 'api', metadata: {} }),
    config: jsonText(config ?? feedbackConfig),
    extra: jsonText(request.extra),
    isError: request.error ?? undefined,
    extendsRetention: request.extend_trace_retention ?? undefined,
    comparativeExperimentId: id(request.comparative_experiment_id),
    feedbackGroupId: id(request.feedback_group_id),
  };
}
