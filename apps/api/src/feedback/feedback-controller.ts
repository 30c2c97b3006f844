import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/path-id.js';
import { DeletedFeedbackAnswer, FeedbackAnswer, renderFeedback } from './feedback-answer.js';
import { Feedback } from './feedback.js';
import { CreateFeedbackRequest, FeedbackQuery, UpdateFeedbackRequest } from './feedback-request.js';

/** Feedback of runs and tracing projects, on the wire of the `langsmith` clients. */
@Described(({ ApiTags }) => ApiTags('Feedback'))
@Controller(['feedback', 'api/v1/feedback'])
export class FeedbackController {
  constructor(private readonly feedback: Feedback) {}

  @Post()
  @HttpCode(200)
  @Operation({
    summary: 'Stores feedback of a run, which may come later, or of a tracing project',
    answer: FeedbackAnswer,
  })
  async create(@FromCaller() caller: Caller, @Body() body: CreateFeedbackRequest): Promise<FeedbackAnswer> {
    return renderFeedback(await this.feedback.create(caller, body));
  }

  @Get()
  @Operation({
    summary: 'Feedback, newest first',
    answer: [FeedbackAnswer],
    refuses: { 400: 'Finding it takes too long' },
  })
  async list(@FromCaller() caller: Caller, @Query() query: FeedbackQuery): Promise<FeedbackAnswer[]> {
    return (await this.feedback.list(caller, query)).map(renderFeedback);
  }

  @Get(':feedback_id')
  @Operation({ summary: 'Feedback', answer: FeedbackAnswer })
  async get(@FromCaller() caller: Caller, @PathId('feedback_id') id: string): Promise<FeedbackAnswer> {
    return renderFeedback(await this.feedback.get(caller, id));
  }

  @Patch(':feedback_id')
  @Operation({ summary: 'Changes feedback; what is absent stays as it is', answer: FeedbackAnswer })
  async update(
    @FromCaller() caller: Caller,
    @PathId('feedback_id') id: string,
    @Body() body: UpdateFeedbackRequest,
  ): Promise<FeedbackAnswer> {
    return renderFeedback(await this.feedback.update(caller, id, body));
  }

  @Delete(':feedback_id')
  @Operation({ summary: 'Deletes feedback', answer: DeletedFeedbackAnswer })
  async delete(
    @FromCaller() caller: Caller,
    @PathId('feedback_id') id: string,
  ): Promise<DeletedFeedbackAnswer> {
    await this.feedback.delete(caller, id);
    return { message: 'Feedback deleted' };
  }
}
