import { Body, Controller, Delete, Get, HttpCode, Post } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { FromCaller } from '../tenancy/caller.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/path-id.js';
import { IntegrationAnswer } from './integration-answer.js';
import { CreateIntegrationRequest } from './integration-request.js';
import { Integrations } from './integrations.js';

/** Git integrations: how builds read private repositories. */
@Described(({ ApiTags }) => ApiTags('Integrations (v1)'))
@Controller('v1/integrations/git_host')
export class IntegrationsController {
  constructor(private readonly integrations: Integrations) {}

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

  @Delete(':integration_id')
  @HttpCode(204)
  @Operation({ summary: 'Deletes a git integration; deployments that name it build no more', status: 204 })
  delete(@FromCaller() caller: Caller, @PathId('integration_id') id: string): Promise<void> {
    return this.integrations.delete(caller, id);
  }
}
