import { Module } from '@nestjs/common';
import type { TraceStore } from '#lib/trace-store';
import { AttachmentModule } from '../attachment/attachment-module.js';
import { TRACE_STORE } from '../core/tokens.js';
import { TenancyModule } from '../tenancy/tenancy-module.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { RunSearches } from '../trace/run-searches.js';
import { TraceModule } from '../trace/trace-module.js';
import { PublicController } from './public-controller.js';
import { SelectedPublicController, SelectedSharesController } from './selected-shares-controller.js';
import { SharedRuns } from './shared-runs.js';
import { SharesController } from './shares-controller.js';

/** Traces that links open for anyone. */
@Module({
  imports: [TraceModule, AttachmentModule, TenancyModule],
  controllers: [SharesController, PublicController, SelectedSharesController, SelectedPublicController],
  providers: [
    {
      provide: SharedRuns,
      inject: [TRACE_STORE, RunSearches, Workspaces],
      useFactory: (store: TraceStore, searches: RunSearches, workspaces: Workspaces) =>
        new SharedRuns(store, searches, workspaces),
    },
  ],
})
export class ShareModule {}
