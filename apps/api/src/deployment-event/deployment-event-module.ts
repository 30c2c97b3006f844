import { Module } from '@nestjs/common';
import { KubeClient } from '#lib/kube';
import { HOMES } from '../core/tokens.js';
import { DeploymentModule } from '../deployment/deployment-module.js';
import { Deployments } from '../deployment/deployments.js';
import type { Homes } from '../kubernetes/homes.js';
import { DeploymentEvents } from './deployment-events.js';
import { EventsController } from './events-controller.js';

/** Events of deployments. */
@Module({
  imports: [DeploymentModule],
  controllers: [EventsController],
  providers: [
    {
      provide: DeploymentEvents,
      inject: [KubeClient, Deployments, HOMES],
      useFactory: (client: KubeClient, deployments: Deployments, homes: Homes) =>
        new DeploymentEvents(client, deployments, homes.deployments),
    },
  ],
})
export class DeploymentEventModule {}
