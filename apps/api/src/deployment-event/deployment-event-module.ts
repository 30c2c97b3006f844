import { Module } from '@nestjs/common';
import { KubeClient } from '#lib/kube';
import type { Clock } from '#lib/time';
import { CLOCK, HOMES } from '../core/tokens.js';
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
      inject: [KubeClient, Deployments, HOMES, CLOCK],
      useFactory: (client: KubeClient, deployments: Deployments, homes: Homes, clock: Clock) =>
        new DeploymentEvents(client, deployments, homes.deployments, clock),
    },
  ],
})
export class DeploymentEventModule {}
