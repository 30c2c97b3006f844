import { Body, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { formatInstant } from '#lib/time';
import type { StoredFeedback } from '#lib/trace-store';
import { AnswerBudget } from '../core/answer-budget.js';
import { FromCaller } from '../tenancy/caller.js';
import { Resource } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { Post, Get, Patch, Delete } from '../wire/route.js';
import { DEPLOYMENT, READ_RUNS, WRITE_RUNS } from '../wire/route-access.js';
import { Answered, FLAG, JSON_VALUE, orNull, TEXT, TIME, UUID } from '../wire/shape.js';
import { jsonListOf, jsonWith } from '../wire/stored-json.js';
import { CreateFeedbackRequest, FeedbackQuery, UpdateFeedbackRequest } from './feedback-request.js';
import { Feedback } from './feedback.js';

/** Feedback on the wire. */
class FeedbackAnswer {
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

class DeletedFeedbackAnswer {
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

/** Feedback of runs and tracing projects, on the wire of the `langsmith` clients. */
@Resource('Feedback', ['feedback', 'api/v1/feedback'])
export class FeedbackController {
  constructor(
    private readonly feedback: Feedback,
    private readonly answers: AnswerBudget,
  ) {}

  @Post('', WRITE_RUNS, {
    summary: 'Stores feedback of a run, which may come later, or of a tracing project',
    answer: FeedbackAnswer,
    sends: 'json',
  })
  async create(@FromCaller() caller: Caller, @Body() body: CreateFeedbackRequest): Promise<string> {
    return renderFeedback(await this.feedback.create(caller, body));
  }

  @Get('', READ_RUNS, {
    summary: 'Feedback, newest first',
    answer: [FeedbackAnswer],
    refuses: { 400: 'Finding it takes too long' },
    sends: 'counted json',
  })
  async list(
    @FromCaller() caller: Caller,
    @Query() query: FeedbackQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.answers.send(reply, caller.tenantId, async (account) => {
      const found = await this.feedback.list(caller, query);
      account.hold(heldBytes(found));
      return jsonListOf(found, renderFeedback);
    });
  }

  @Get(':feedback_id', READ_RUNS, { summary: 'Feedback', answer: FeedbackAnswer, sends: 'json' })
  async get(@FromCaller() caller: Caller, @PathId('feedback_id') id: string): Promise<string> {
    return renderFeedback(await this.feedback.get(caller, id));
  }

  @Patch(':feedback_id', DEPLOYMENT, {
    summary: 'Changes feedback; what is absent stays as it is',
    answer: FeedbackAnswer,
    sends: 'json',
  })
  async update(
    @FromCaller() caller: Caller,
    @PathId('feedback_id') id: string,
    @Body() body: UpdateFeedbackRequest,
  ): Promise<string> {
    return renderFeedback(await this.feedback.update(caller, id, body));
  }

  @Delete(':feedback_id', DEPLOYMENT, { summary: 'Deletes feedback', answer: DeletedFeedbackAnswer })
  async delete(
    @FromCaller() caller: Caller,
    @PathId('feedback_id') id: string,
  ): Promise<DeletedFeedbackAnswer> {
    await this.feedback.delete(caller, id);
    return { message: 'Feedback deleted' };
  }
}
