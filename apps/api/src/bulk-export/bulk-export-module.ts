import { Module } from '@nestjs/common';
import type { Clock } from '#lib/time';
import type { TraceStore } from '#lib/trace-store';
import type { ApiConfig } from '../config.js';
import { API_CONFIG, CLOCK, HOMES, TRACE_STORE } from '../core/tokens.js';
import type { Homes } from '../kubernetes/homes.js';
import { TenancyModule } from '../tenancy/tenancy-module.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { BulkExports } from './bulk-exports.js';
import { BulkExportsController } from './bulk-exports-controller.js';
import { Destinations } from './destinations.js';

/** Exports, their runs and their destinations. */
@Module({
  imports: [TenancyModule],
  controllers: [BulkExportsController],
  providers: [
    {
      provide: Destinations,
      inject: [HOMES, Workspaces, API_CONFIG, CLOCK],
      useFactory: (
        { destinations, secrets }: Homes,
        workspaces: Workspaces,
        { allowPrivateEndpoints }: Pick<ApiConfig, 'allowPrivateEndpoints'>,
        clock: Clock,
      ) => new Destinations(destinations, secrets, workspaces, allowPrivateEndpoints, clock),
    },
    {
      provide: BulkExports,
      inject: [HOMES, Workspaces, TRACE_STORE, CLOCK],
      useFactory: (homes: Homes, workspaces: Workspaces, store: TraceStore, clock: Clock) =>
        new BulkExports(homes, workspaces, store, clock),
    },
  ],
})
export class BulkExportModule {}
