import { Module } from '@nestjs/common';
import { WrongKeys } from '#lib/http';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { AttachmentModule } from '../attachment/attachment-module.js';
import type { ApiConfig } from '../config.js';
import { API_CONFIG, CLOCK, TRACE_STORE } from '../core/tokens.js';
import { TenancyModule } from '../tenancy/tenancy-module.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { RunSearches } from '../trace/run-searches.js';
import { TraceModule } from '../trace/trace-module.js';
import { PublicController } from './public-controller.js';
import { SelectedPublicController, SelectedSharesController } from './selected-shares-controller.js';
import { SharedRuns } from './shared-runs.js';
import { SharesController } from './shares-controller.js';

/** Unknown links that are looked up in a second all the same, of all addresses: behind one may be many people. */
const CHANCES_PER_SECOND = 50;

/** Traces that links open for anyone. */
@Module({
  imports: [TraceModule, AttachmentModule, TenancyModule],
  controllers: [SharesController, PublicController, SelectedSharesController, SelectedPublicController],
  providers: [
    {
      provide: SharedRuns,
      inject: [TRACE_STORE, RunSearches, Workspaces, API_CONFIG, CLOCK],
      useFactory: (
        store: TraceStore,
        searches: RunSearches,
        workspaces: Workspaces,
        { wrongKeysPerMinute: perMinute }: Pick<ApiConfig, 'wrongKeysPerMinute'>,
        clock: Clock,
      ) => {
        const limits = { perMinute, chancesPerSecond: CHANCES_PER_SECOND, called: 'link', clock };
        return new SharedRuns(store, searches, workspaces, new WrongKeys(limits));
      },
    },
  ],
})
export class ShareModule {}
