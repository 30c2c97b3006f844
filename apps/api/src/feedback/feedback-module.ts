import { Module } from '@nestjs/common';
import type { TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { FeedbackController } from './feedback-controller.js';
import { Feedback } from './feedback.js';

/** Feedback of runs. */
@Module({
  controllers: [FeedbackController],
  providers: [
    { provide: Feedback, inject: [TRACE_STORE], useFactory: (store: TraceStore) => new Feedback(store) },
  ],
})
export class FeedbackModule {}
