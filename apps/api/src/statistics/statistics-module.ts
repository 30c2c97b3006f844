import { Module } from '@nestjs/common';
import type { TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { RunSearches } from '../trace/run-searches.js';
import { StatisticsController } from './statistics-controller.js';
import { Statistics } from './statistics.js';

/** Sums of runs. */
@Module({
  controllers: [StatisticsController],
  providers: [
    {
      provide: Statistics,
      inject: [TRACE_STORE],
      useFactory: (store: TraceStore) => new Statistics(store, new RunSearches(store)),
    },
  ],
})
export class StatisticsModule {}
