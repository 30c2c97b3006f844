import { Body, Controller, Delete, Get, HttpCode, Inject, Post, Put } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import type { ApiConfig } from '../config.js';
import { API_CONFIG } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { Described } from '../wire/described.js';
import { AskedOrigin, originOf } from '../wire/origin-of.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { IntegrationAnswer, IntegrationWebhookAnswer } from './integration-answer.js';
import { CreateIntegrationRequest, PutWebhookRequest } from './integration-request.js';
import { Integrations } from './integrations.js';

/** Git integrations: how builds read private repositories. */
@Described(({ ApiTags }) => ApiTags('Integrations (v1)'))
@Controller('v1/integrations/git_host')
export class IntegrationsController {
  constructor(
    private readonly integrations: Integrations,
    @Inject(API_CONFIG) private readonly config: Pick<ApiConfig, 'publicUrl'>,
  ) {}

  @Get('install')
  @Operation({ summary: 'Git integrations of the workspace', answer: [IntegrationAnswer] })
  list(@FromCaller() caller: Caller): Promise<IntegrationAnswer[]> {
    return this.integrations.list(caller);
  }

  @Post()
  @Operation({
    summary: 'Makes a git integration: a host and a token that may read its repositories',
    answer: IntegrationAnswer,
    status: 201,
    refuses: { 409: 'The workspace has as many as it may' },
  })
  create(@FromCaller() caller: Caller, @Body() body: CreateIntegrationRequest): Promise<IntegrationAnswer> {
    return this.integrations.create(caller, body);
  }

  @Put(':integration_id/webhook')
  @Operation({
    summary: 'Opens the webhook of an integration, or replaces its secret',
    answer: IntegrationWebhookAnswer,
    refuses: { 409: 'Another request changed the integrations at the same time; retry' },
  })
  async openWebhook(
    @FromCaller() caller: Caller,
    @PathId('integration_id') id: string,
    @AskedOrigin() origin: string,
    @Body() body: PutWebhookRequest,
  ): Promise<IntegrationWebhookAnswer> {
    const secret = await this.integrations.openWebhook(caller, id, body.secret ?? undefined);
    const path = `/v1/integrations/git_host/${id}/webhook/${caller.tenantId}`;
    return { url: `${originOf(this.config.publicUrl, origin)}${path}`, secret };
  }

  @Delete(':integration_id/webhook')
  @HttpCode(204)
  @Operation({
    summary: 'Closes the webhook of an integration; branches are still looked at periodically',
    status: 204,
  })
  closeWebhook(@FromCaller() caller: Caller, @PathId('integration_id') id: string): Promise<void> {
    return this.integrations.closeWebhook(caller, id);
  }

  @Delete(':integration_id')
  @HttpCode(204)
  @Operation({ summary: 'Deletes a git integration; deployments that name it build no more', status: 204 })
  delete(@FromCaller() caller: Caller, @PathId('integration_id') id: string): Promise<void> {
    return this.integrations.delete(caller, id);
  }
}
