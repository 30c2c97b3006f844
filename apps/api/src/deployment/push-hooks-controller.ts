import { Controller, HttpCode, Post, Req } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { clientAddress } from '../wire/origin-of.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { PathId } from '../wire/query-flag.js';
import { HeardPushAnswer } from './integration-answer.js';
import { PushHooks } from './push-hooks.js';

/** Endpoint at which git hosts announce pushes. */
@Described(({ ApiTags }) => ApiTags('Integrations (v1)'))
@Controller('v1/integrations/git_host')
export class PushHooksController {
  constructor(private readonly hooks: PushHooks) {}

  @Post(':integration_id/webhook/:tenant_id')
  @HttpCode(202)
  @RouteConfig({ signedBody: true })
  @Operation({
    summary: 'Receives the signed webhook of a git host; needs no key',
    status: 202,
    answer: HeardPushAnswer,
    refuses: {
      401: 'The webhook is not known, or its signature is wrong',
      413: 'The body is too large',
      429: 'Too many pushes, or too many wrong signatures from this address',
    },
  })
  async hear(
    @PathId('integration_id') integrationId: string,
    @PathId('tenant_id') tenantId: string,
    @Req() request: FastifyRequest,
  ): Promise<HeardPushAnswer> {
    const { headers, body } = request;
    const woken = await this.hooks.hear({
      integrationId,
      tenantId,
      address: clientAddress(request),
      headers,
      body: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
    });
    return { woken };
  }
}
