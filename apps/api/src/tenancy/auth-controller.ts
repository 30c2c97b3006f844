import { Controller, HttpCode, Post } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import { FromCaller } from './caller.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { CallerAnswer } from './caller-answer.js';

/** Lets deployed agents ask whom a key belongs to. */
@Described(({ ApiTags }) => ApiTags('Auth'))
@Controller('auth')
export class AuthController {
  @Post('verify')
  @HttpCode(200)
  @Operation({
    summary: 'Tenant that the key of this request belongs to, and what the key opens',
    answer: CallerAnswer,
  })
  verify(@FromCaller() caller: Caller): CallerAnswer {
    return {
      tenant_id: caller.tenantId,
      key_id: caller.keyId,
      scope: caller.scope,
      ...(caller.scope === 'deployment' ? { deployment: caller.deployment, project: caller.project } : {}),
      ...(caller.expiresInMs === undefined ? {} : { expires_in_ms: Math.floor(caller.expiresInMs) }),
    };
  }
}
