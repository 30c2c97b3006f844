import { Module } from '@nestjs/common';
import type { TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { TenancyModule } from '../tenancy/tenancy-module.js';
import {
  PromptCommitsController,
  PromptLikesController,
  PromptsController,
  SettingsController,
} from './prompts-controller.js';
import { Prompts } from './prompts.js';

/** Prompts that programs pull by their names. */
@Module({
  imports: [TenancyModule],
  controllers: [PromptsController, PromptCommitsController, PromptLikesController, SettingsController],
  providers: [
    { provide: Prompts, inject: [TRACE_STORE], useFactory: (store: TraceStore) => new Prompts(store) },
  ],
})
export class PromptModule {}
