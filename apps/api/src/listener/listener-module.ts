import { Module } from '@nestjs/common';
import { HOMES } from '../core/tokens.js';
import type { Homes } from '../kubernetes/homes.js';
import { TenancyModule } from '../tenancy/tenancy-module.js';
import { Workspaces } from '../tenancy/workspaces.js';
import { Listeners } from './listeners.js';
import { ListenersController } from './listeners-controller.js';

/** Listeners of a workspace. */
@Module({
  imports: [TenancyModule],
  controllers: [ListenersController],
  providers: [
    {
      provide: Listeners,
      inject: [HOMES, Workspaces],
      useFactory: (homes: Homes, workspaces: Workspaces) => new Listeners(homes, workspaces),
    },
  ],
})
export class ListenerModule {}
