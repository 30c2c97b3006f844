import { Module } from '@nestjs/common';
import type { Admission } from '#lib/admission';
import type { TraceStore } from '#lib/trace-store';
import { AttachmentKeeper } from '../attachment/attachment-keeper.js';
import { AttachmentModule } from '../attachment/attachment-module.js';
import { AttachmentUrls } from '../attachment/attachment-urls.js';
import type { ApiConfig } from '../config.js';
import { API_CONFIG, TRACE_STORE } from '../core/tokens.js';
import { TRACE_BODIES } from '../trace/held-body.js';
import { RunSearches } from '../trace/run-searches.js';
import { TraceModule } from '../trace/trace-module.js';
import { DatasetRequests } from './dataset-requests.js';
import { DatasetsController, DatasetVersionsController } from './datasets-controller.js';
import { ExampleLists } from './example-lists.js';
import { ExampleUploads } from './example-uploads.js';
import { ExamplesController, ExampleUploadsController } from './examples-controller.js';
import { ExperimentRunsController, SelectedExperimentRunsController } from './experiment-runs-controller.js';
import { ExperimentRuns } from './experiment-runs.js';

/** Datasets, and the examples that experiments are run on. */
@Module({
  imports: [TraceModule, AttachmentModule],
  exports: [DatasetRequests],
  controllers: [
    DatasetsController,
    DatasetVersionsController,
    ExperimentRunsController,
    SelectedExperimentRunsController,
    ExampleUploadsController,
    ExamplesController,
  ],
  providers: [
    {
      provide: DatasetRequests,
      inject: [TRACE_STORE],
      useFactory: (store: TraceStore) => new DatasetRequests(store),
    },
    {
      provide: ExampleLists,
      inject: [TRACE_STORE, AttachmentUrls],
      useFactory: (store: TraceStore, urls: AttachmentUrls) => new ExampleLists(store, urls),
    },
    {
      provide: ExperimentRuns,
      inject: [TRACE_STORE, ExampleLists, RunSearches, AttachmentUrls],
      useFactory: (store: TraceStore, lists: ExampleLists, searches: RunSearches, urls: AttachmentUrls) =>
        new ExperimentRuns(store, lists, searches, urls),
    },
    {
      provide: ExampleUploads,
      inject: [TRACE_STORE, TRACE_BODIES, API_CONFIG, AttachmentKeeper],
      useFactory: (
        store: TraceStore,
        budget: Admission,
        { maxBodyBytes }: Pick<ApiConfig, 'maxBodyBytes'>,
        keeper: AttachmentKeeper,
      ) => new ExampleUploads(store, budget, maxBodyBytes, keeper),
    },
  ],
})
export class DatasetModule {}
