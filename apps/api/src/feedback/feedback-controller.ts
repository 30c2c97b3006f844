import { Body, Controller, Delete, Get, Header, HttpCode, Patch, Post, Query, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { AnswerBudget } from '../core/answer-budget.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/path-id.js';
import { JSON_TYPE, jsonListOf } from '../wire/stored-json.js';
import { DeletedFeedbackAnswer, FeedbackAnswer, heldBytes, renderFeedback } from './feedback-answer.js';
import { Feedback } from './feedback.js';
import { CreateFeedbackRequest, FeedbackQuery, UpdateFeedbackRequest } from './feedback-request.js';

/** Feedback of runs and tracing projects, on the wire of the `langsmith` clients. */
@Described(({ ApiTags }) => ApiTags('Feedback'))
@Controller(['feedback', 'api/v1/feedback'])
export class FeedbackController {
  constructor(
    private readonly feedback: Feedback,
    private readonly answers: AnswerBudget,
  ) {}

  @Post()
  @Header('content-type', JSON_TYPE)
  @HttpCode(200)
  @Operation({
    summary: 'Stores feedback of a run, which may come later, or of a tracing project',
    answer: FeedbackAnswer,
  })
  async create(@FromCaller() caller: Caller, @Body() body: CreateFeedbackRequest): Promise<string> {
    return renderFeedback(await this.feedback.create(caller, body));
  }

  @Get()
  @Header('content-type', JSON_TYPE)
  @RouteConfig({ countsAnswer: true })
  @Operation({
    summary: 'Feedback, newest first',
    answer: [FeedbackAnswer],
    refuses: { 400: 'Finding it takes too long' },
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

  @Get(':feedback_id')
  @Header('content-type', JSON_TYPE)
  @Operation({ summary: 'Feedback', answer: FeedbackAnswer })
  async get(@FromCaller() caller: Caller, @PathId('feedback_id') id: string): Promise<string> {
    return renderFeedback(await this.feedback.get(caller, id));
  }

  @Patch(':feedback_id')
  @Header('content-type', JSON_TYPE)
  @Operation({ summary: 'Changes feedback; what is absent stays as it is', answer: FeedbackAnswer })
  async update(
    @FromCaller() caller: Caller,
    @PathId('feedback_id') id: string,
    @Body() body: UpdateFeedbackRequest,
  ): Promise<string> {
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
