import { Module } from '@nestjs/common';
import type { TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { Keys } from './keys.js';
import { KeysController } from './keys-controller.js';

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
