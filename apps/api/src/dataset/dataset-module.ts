import { Module } from '@nestjs/common';
import type { BufferBudget } from '#lib/http';
import type { TraceStore } from '#lib/trace-store';
import type { ApiConfig } from '../config.js';
import { API_CONFIG, TRACE_STORE } from '../core/tokens.js';
import { TRACE_BODIES } from '../trace/trace-bodies.js';
import { TraceModule } from '../trace/trace-module.js';
import { DatasetRequests } from './dataset-requests.js';
import { DatasetsController, DatasetVersionsController } from './datasets-controller.js';
import { ExampleLists } from './example-lists.js';
import { ExampleUploads } from './example-uploads.js';
import { ExamplesController, ExampleUploadsController } from './examples-controller.js';

/** Datasets, and the examples that experiments are run on. */
@Module({
  imports: [TraceModule],
  controllers: [DatasetsController, DatasetVersionsController, ExampleUploadsController, ExamplesController],
  providers: [
    {
      provide: DatasetRequests,
      inject: [TRACE_STORE],
      useFactory: (store: TraceStore) => new DatasetRequests(store),
    },
    {
      provide: ExampleLists,
      inject: [TRACE_STORE],
      useFactory: (store: TraceStore) => new ExampleLists(store),
    },
    {
      provide: ExampleUploads,
      inject: [TRACE_STORE, TRACE_BODIES, API_CONFIG],
      useFactory: (
        store: TraceStore,
        budget: BufferBudget,
        { maxBodyBytes }: Pick<ApiConfig, 'maxBodyBytes'>,
      ) => new ExampleUploads(store, budget, maxBodyBytes),
    },
  ],
})
export class DatasetModule {}
