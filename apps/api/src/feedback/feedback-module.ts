import { Module } from '@nestjs/common';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { CLOCK, TRACE_STORE } from '../core/tokens.js';
import { TenancyModule } from '../tenancy/tenancy-module.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { FeedbackConfigsController, FeedbackConfigurations } from './feedback-configs-controller.js';
import { FeedbackController } from './feedback-controller.js';
import { Feedback } from './feedback.js';
import { PresignedController } from './presigned-controller.js';
import { PresignedFeedback } from './presigned-feedback.js';

/** Feedback of runs. */
@Module({
  imports: [TenancyModule],
  controllers: [PresignedController, FeedbackConfigsController, FeedbackController],
  exports: [Feedback],
  providers: [
    {
      provide: FeedbackConfigurations,
      inject: [TRACE_STORE],
      useFactory: (store: TraceStore) => new FeedbackConfigurations(store),
    },
    { provide: Feedback, inject: [TRACE_STORE], useFactory: (store: TraceStore) => new Feedback(store) },
    {
      provide: PresignedFeedback,
      inject: [TRACE_STORE, Workspaces, CLOCK],
      useFactory: (store: TraceStore, workspaces: Workspaces, clock: Clock) =>
        new PresignedFeedback(store, workspaces, clock),
    },
  ],
})
export class FeedbackModule {}
