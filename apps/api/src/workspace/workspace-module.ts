import { Module } from '@nestjs/common';
import type { TraceStore } from '#lib/trace-store';
import { HOMES, TRACE_STORE } from '../core/tokens.js';
import type { Homes } from '../kubernetes/homes.js';
import { TenancyModule } from '../tenancy/tenancy-module.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { WorkspaceReader } from './workspace-reader.js';
import { WorkspacesController } from './workspaces-controller.js';

/** Facts and usage of a workspace. */
@Module({
  imports: [TenancyModule],
  controllers: [WorkspacesController],
  providers: [
    {
      provide: WorkspaceReader,
      inject: [HOMES, Workspaces, TRACE_STORE],
      useFactory: (homes: Homes, workspaces: Workspaces, store: TraceStore) =>
        new WorkspaceReader(homes, workspaces, store),
    },
  ],
})
export class WorkspaceModule {}
