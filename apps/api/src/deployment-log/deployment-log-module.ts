import { Module } from '@nestjs/common';
import { KubeClient } from '#lib/kube';
import type { Clock } from '#lib/time';
import type { ApiConfig } from '../config.js';
import { API_CONFIG, CLOCK } from '../core/tokens.js';
import { DeploymentModule } from '../deployment/deployment-module.js';
import { DeploymentRevisions } from '../deployment/deployment-revisions.js';
import { Deployments } from '../deployment/deployments.js';
import { DeploymentLogs } from './deployment-logs.js';
import { LogEntries } from './log-entries.js';
import { LogEntriesController } from './log-entries-controller.js';
import { LogPlaces, LogsController } from './logs-controller.js';

/** Logs of deployments and their revisions. */
@Module({
  imports: [DeploymentModule],
  controllers: [LogsController, LogEntriesController],
  providers: [
    { provide: LogPlaces, useFactory: () => new LogPlaces() },
    {
      provide: LogEntries,
      inject: [DeploymentLogs, Deployments, DeploymentRevisions],
      useFactory: (logs: DeploymentLogs, deployments: Deployments, revisions: DeploymentRevisions) =>
        new LogEntries(logs, { deployments, revisions }),
    },
    {
      provide: DeploymentLogs,
      inject: [KubeClient, Deployments, DeploymentRevisions, CLOCK, API_CONFIG],
      useFactory: (
        client: KubeClient,
        deployments: Deployments,
        revisions: DeploymentRevisions,
        clock: Clock,
        { buildNamespace }: Pick<ApiConfig, 'buildNamespace'>,
      ) => new DeploymentLogs(client, { deployments, revisions }, clock, buildNamespace),
    },
  ],
})
export class DeploymentLogModule {}
