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
  @Operation({ summary: 'Tenant that the key of this request belongs to', answer: CallerAnswer })
  verify(@FromCaller() caller: Caller): CallerAnswer {
    return {
      tenant_id: caller.tenantId,
      key_id: caller.keyId,
      ...(caller.deployment === undefined ? {} : { deployment: caller.deployment }),
    };
  }
}
