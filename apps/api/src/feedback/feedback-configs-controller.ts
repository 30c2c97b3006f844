import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { parseJson } from '#lib/json';
import { formatInstant } from '#lib/time';
import type { FeedbackConfig } from '#lib/trace-store';
import { FromCaller } from '../tenancy/caller.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { Answered, FLAG, JSON_VALUE, TEXT, TIME, UUID } from '../wire/shape.js';
import {
  CreateFeedbackConfigRequest,
  DeleteFeedbackConfigQuery,
  FeedbackConfigsQuery,
  UpdateFeedbackConfigRequest,
} from './feedback-config-request.js';
import { FeedbackConfigurations } from './feedback-configurations.js';

/** A configuration of feedback on the wire. */
export class FeedbackConfigAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(UUID) readonly tenant_id: string;
  @Answered(TEXT) readonly feedback_key: string;
  @Answered(JSON_VALUE) readonly feedback_config: unknown;
  @Answered(FLAG) readonly is_lower_score_better: boolean;
  @Answered(FLAG, 'Always false') readonly is_enforced: boolean;
  @Answered(FLAG, 'Always true: a key has one') readonly is_first: boolean;
  @Answered(FLAG, 'Always false') readonly is_deleted: boolean;
  @Answered(TIME) readonly modified_at: string;
}

function render(tenantId: string, found: FeedbackConfig): FeedbackConfigAnswer {
  return {
    id: found.id,
    tenant_id: tenantId,
    feedback_key: found.key,
    feedback_config: parseJson(found.config),
    is_lower_score_better: found.isLowerScoreBetter,
    is_enforced: false,
    is_first: true,
    is_deleted: false,
    modified_at: formatInstant(found.modifiedAt),
  };
}

/** Interpretation of the feedback of a key, in the API of the `langsmith` clients. */
@Described(({ ApiTags }) => ApiTags('Feedback'))
@Controller(['feedback-configs', 'api/v1/feedback-configs'])
export class FeedbackConfigsController {
  constructor(private readonly configs: FeedbackConfigurations) {}

  @Post()
  @HttpCode(200)
  @Operation({
    summary: 'Creates the configuration of a key; an equal one that exists is answered',
    answer: FeedbackConfigAnswer,
    refuses: { 400: 'The key has another configuration' },
  })
  async create(
    @FromCaller() { tenantId }: Caller,
    @Body() body: CreateFeedbackConfigRequest,
  ): Promise<FeedbackConfigAnswer> {
    return render(tenantId, await this.configs.create(tenantId, body));
  }

  @Get()
  @Operation({ summary: 'Configurations of feedback, by key', answer: [FeedbackConfigAnswer] })
  async list(
    @FromCaller() { tenantId }: Caller,
    @Query() query: FeedbackConfigsQuery,
  ): Promise<FeedbackConfigAnswer[]> {
    return (await this.configs.list(tenantId, query)).map((one) => render(tenantId, one));
  }

  @Patch()
  @Operation({
    summary: 'Changes the configuration of a key; what is null or absent stays as it is',
    answer: FeedbackConfigAnswer,
    refuses: { 404: 'The key has no configuration' },
  })
  async update(
    @FromCaller() { tenantId }: Caller,
    @Body() body: UpdateFeedbackConfigRequest,
  ): Promise<FeedbackConfigAnswer> {
    return render(tenantId, await this.configs.update(tenantId, body));
  }

  @Delete()
  @HttpCode(204)
  @Operation({
    summary: 'Deletes a configuration, by its key or id',
    status: 204,
    refuses: { 404: 'There is no such configuration' },
  })
  async delete(@FromCaller() { tenantId }: Caller, @Query() query: DeleteFeedbackConfigQuery): Promise<void> {
    await this.configs.delete(tenantId, query);
  }
}
