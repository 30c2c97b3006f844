import { Module } from '@nestjs/common';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { CLOCK, TRACE_STORE } from '../core/tokens.js';
import { RunSearches } from '../trace/run-searches.js';
import { TraceModule } from '../trace/trace-module.js';
import { RunGroupsController, ThreadsController } from './threads-controller.js';
import { Threads } from './threads.js';

/** Conversations: traces of a project with the same thread id. */
@Module({
  imports: [TraceModule],
  controllers: [RunGroupsController, ThreadsController],
  providers: [
    {
      provide: Threads,
      inject: [TRACE_STORE, RunSearches, CLOCK],
      useFactory: (store: TraceStore, searches: RunSearches, clock: Clock) =>
        new Threads(store, searches, clock),
    },
  ],
})
export class ThreadsModule {}
