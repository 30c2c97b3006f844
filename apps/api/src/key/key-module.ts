import { Module } from '@nestjs/common';
import type { TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { Keys } from './keys.js';
import { KeysController } from './keys-controller.js';

/** API keys of a workspace. */
@Module({
  controllers: [KeysController],
  providers: [
    { provide: Keys, inject: [TRACE_STORE], useFactory: ({ apiKeys }: TraceStore) => new Keys(apiKeys) },
  ],
})
export class KeyModule {}
