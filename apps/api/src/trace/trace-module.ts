import { Module } from '@nestjs/common';
import { Admission } from '#lib/admission';
import type { TraceStore } from '#lib/trace-store';
import type { ApiConfig } from '../config.js';
import { API_CONFIG, TRACE_STORE } from '../core/tokens.js';
import { AttachmentIntake } from '../attachment/attachment-intake.js';
import { AttachmentKeeper } from '../attachment/attachment-keeper.js';
import { AttachmentModule } from '../attachment/attachment-module.js';
import { AttachmentsController } from './attachments-controller.js';
import { IngestProblemsController } from './ingest-problems-controller.js';
import { InfoController } from './info-controller.js';
import { TenancyModule } from '../tenancy/tenancy-module.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { RetentionSync } from './retention-sync.js';
import { RunSearches } from './run-searches.js';
import { RunsController } from './runs-controller.js';
import { RunsQueryController, SelectedRunsController } from './runs-query-controller.js';
import { SessionsController } from './sessions-controller.js';
import { Tidying } from './tidying.js';
import { TRACE_BODIES } from './held-body.js';
import { TraceIngestion } from './trace-ingestion.js';
import { TracesQueryController } from './traces-query-controller.js';
import { Traces } from './traces.js';
import { WarningsController } from './warnings-controller.js';

type Limits = Pick<ApiConfig, 'maxBodyBytes' | 'maxBufferedBytes'>;

const BUSY = 'Storing the traces failed: too many arrive at once; try again';

/** Runs of traces, sent and read, and their tracing projects. */
@Module({
  imports: [AttachmentModule, TenancyModule],
  controllers: [
    InfoController,
    WarningsController,
    RunsQueryController,
    RunsController,
    SelectedRunsController,
    TracesQueryController,
    SessionsController,
    IngestProblemsController,
    AttachmentsController,
  ],
  exports: [RunSearches, Traces, TRACE_BODIES],
  providers: [
    {
      provide: TraceIngestion,
      inject: [TRACE_STORE, TRACE_BODIES, API_CONFIG, AttachmentKeeper],
      useFactory: (
        store: TraceStore,
        bodies: Admission,
        { maxBodyBytes }: Limits,
        keeper: AttachmentKeeper,
      ) =>
        new TraceIngestion(
          store,
          bodies,
          maxBodyBytes,
          (caller) => new AttachmentIntake(keeper, store, caller),
        ),
    },
    {
      provide: TRACE_BODIES,
      inject: [API_CONFIG],
      useFactory: ({ maxBufferedBytes }: Limits) =>
        new Admission({ capacity: maxBufferedBytes, halves: true, refusal: BUSY }),
    },
    { provide: Traces, inject: [TRACE_STORE], useFactory: (store: TraceStore) => new Traces(store) },
    {
      provide: RunSearches,
      inject: [TRACE_STORE],
      useFactory: (store: TraceStore) => new RunSearches(store),
    },
    {
      provide: RetentionSync,
      inject: [TRACE_STORE, Workspaces],
      useFactory: (store: TraceStore, workspaces: Workspaces) => new RetentionSync(store, workspaces),
    },
    { provide: Tidying, inject: [TRACE_STORE], useFactory: (store: TraceStore) => new Tidying(store) },
  ],
})
export class TraceModule {}
