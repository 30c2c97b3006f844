import { Body, Controller, Delete, Get, HttpCode, Module, Post, Query } from '@nestjs/common';
import type { Caller } from '#lib/auth';
import type { TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { CreateKeyRequest, KeyAnswer, Keys, KeysQuery, NewKeyAnswer, PathKeyId } from './keys.js';

/** API keys of the caller's workspace. */
@Described(({ ApiTags }) => ApiTags('API keys'))
@Controller('api/v1/api-key')
class KeysController {
  constructor(private readonly keys: Keys) {}

  @Get()
  @Operation({ summary: 'API keys of the workspace, newest first', answer: [KeyAnswer] })
  list(@FromCaller() caller: Caller, @Query() query: KeysQuery): Promise<readonly KeyAnswer[]> {
    return this.keys.list(caller.tenantId, query.include_revoked === true);
  }

  @Post()
  @HttpCode(200)
  @Operation({ summary: 'Creates an API key and answers it, this once', answer: NewKeyAnswer })
  create(@FromCaller() caller: Caller, @Body() body: CreateKeyRequest): Promise<NewKeyAnswer> {
    return this.keys.create(caller, body);
  }

  @Delete(':api_key_id')
  @Operation({
    summary: 'Revokes an API key',
    answer: KeyAnswer,
    refuses: { 409: 'The key belongs to a deployment and is revoked when that is deleted' },
  })
  @Described(({ ApiParam }) => ApiParam({ name: 'api_key_id', schema: { type: 'string', maxLength: 100 } }))
  revoke(@FromCaller() caller: Caller, @PathKeyId('api_key_id') id: string): Promise<KeyAnswer> {
    return this.keys.revoke(caller.tenantId, id);
  }
}

/** API keys of a workspace. */
@Module({
  controllers: [KeysController],
  providers: [
    {
      provide: Keys,
      inject: [TRACE_STORE],
      useFactory: (store: TraceStore) => new Keys(store.apiKeys, () => store.databaseTime()),
    },
  ],
})
export class KeyModule {}
