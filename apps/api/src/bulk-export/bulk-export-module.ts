import { Module } from '@nestjs/common';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import { webhookGuard } from '#lib/outbound';
import type { ApiConfig } from '../config.js';
import { API_CONFIG, CLOCK, HOMES, TRACE_STORE } from '../core/tokens.js';
import type { Homes } from '../kubernetes/homes.js';
import { TenancyModule } from '../tenancy/tenancy-module.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { BulkExports } from './bulk-exports.js';
import { BulkExportsController } from './bulk-exports-controller.js';
import { Destinations } from './destinations.js';
import { ExportWebhooks } from './export-webhooks.js';

/** Exports, their runs and their destinations. */
@Module({
  imports: [TenancyModule],
  controllers: [BulkExportsController],
  exports: [BulkExports],
  providers: [
    {
      provide: Destinations,
      inject: [HOMES, Workspaces, API_CONFIG, CLOCK],
      useFactory: (
        { destinations, exports, secrets }: Homes,
        workspaces: Workspaces,
        { allowPrivateEndpoints }: Pick<ApiConfig, 'allowPrivateEndpoints'>,
        clock: Clock,
      ) => new Destinations(destinations, exports, secrets, workspaces, allowPrivateEndpoints, clock),
    },
    {
      provide: ExportWebhooks,
      inject: [HOMES, API_CONFIG, CLOCK],
      useFactory: (
        { secrets }: Homes,
        { exportWebhookPrivateAddresses: allowPrivate }: Pick<ApiConfig, 'exportWebhookPrivateAddresses'>,
        clock: Clock,
      ) => {
        const advice = 'set AGENTPLANE_EXPORT_WEBHOOK_PRIVATE_ADDRESSES=true for the platform to allow these';
        return new ExportWebhooks({ secrets, clock, guard: webhookGuard({ allowPrivate, advice }) });
      },
    },
    {
      provide: BulkExports,
      inject: [HOMES, Workspaces, TRACE_STORE, ExportWebhooks, CLOCK, API_CONFIG],
      useFactory: (
        homes: Homes,
        workspaces: Workspaces,
        store: TraceStore,
        webhooks: ExportWebhooks,
        clock: Clock,
        { maxUnfinishedExports }: Pick<ApiConfig, 'maxUnfinishedExports'>,
      ) => new BulkExports(homes, workspaces, store, webhooks, clock, maxUnfinishedExports),
    },
  ],
})
export class BulkExportModule {}
