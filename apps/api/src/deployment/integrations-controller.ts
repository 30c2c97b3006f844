import { Controller, Get } from '@nestjs/common';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { IntegrationAnswer } from './integration-answer.js';

/** Git integrations. There are none before there are builds. */
@Described(({ ApiTags }) => ApiTags('Integrations (v1)'))
@Controller('v1/integrations/git_host')
export class IntegrationsController {
  @Get('install')
  @Operation({
    summary: 'Git integrations; empty until builds from git are supported',
    answer: [IntegrationAnswer],
  })
  list(): readonly IntegrationAnswer[] {
    return [];
  }
}
