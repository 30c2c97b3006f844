import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { type ControllerSpec, Informers, LeaderElector } from '#lib/kube';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import {
  AGENT_DEPLOYMENT_CONTROLLER,
  AgentDeploymentModule,
} from './agent-deployment/agent-deployment-module.js';
import { AGENT_REVISION_CONTROLLER, AgentRevisionModule } from './agent-revision/agent-revision-module.js';
import {
  BULK_EXPORT_DESTINATION_CONTROLLER,
  BulkExportDestinationModule,
} from './bulk-export-destination/bulk-export-destination-module.js';
import { BULK_EXPORT_RUN_CONTROLLER, BulkExportRunModule } from './bulk-export-run/bulk-export-run-module.js';
import { LeftUploads } from './bulk-export-run/left-uploads.js';
import { BULK_EXPORT_CONTROLLER, BulkExportModule } from './bulk-export/bulk-export-module.js';
import { ControllerWork, type OwnedParts } from './controller-work.js';
import { CoreModule, type Surroundings } from './core/core-module.js';
import { CLOCK, LOG, OWNED_PARTS } from './core/tokens.js';
import { EXPORT_ARCHIVE_CONTROLLER, ExportArchiveModule } from './export-archive/export-archive-module.js';
import {
  EXPORT_SCHEDULE_CONTROLLER,
  ExportScheduleModule,
} from './export-schedule/export-schedule-module.js';
import { EXPORT_WEBHOOK_CONTROLLER, ExportWebhookModule } from './export-webhook/export-webhook-module.js';
import {
  FORMER_CREDENTIALS_CONTROLLER,
  FormerCredentialsModule,
} from './former-credentials/former-credentials-module.js';
import { GIT_PUSH_CONTROLLER, GitPushModule } from './git-push/git-push-module.js';
import { HealthController, MetricsController } from './health/health-controller.js';
import { Readiness } from './health/readiness.js';
import { LISTENER_CONTROLLER, ListenerModule } from './listener/listener-module.js';
import { UNUSED_IMAGES_CONTROLLER, UnusedImagesModule } from './unused-images/unused-images-module.js';
import { WORKSPACE_CONTROLLER, WorkspaceModule } from './workspace/workspace-module.js';

const KINDS = [
  WorkspaceModule,
  ListenerModule,
  AgentDeploymentModule,
  AgentRevisionModule,
  BulkExportDestinationModule,
  BulkExportModule,
  BulkExportRunModule,
  ExportScheduleModule,
  ExportWebhookModule,
  ExportArchiveModule,
  FormerCredentialsModule,
  UnusedImagesModule,
  GitPushModule,
];

/** Controllers in the order in which they begin to work. */
const CONTROLLERS = [
  WORKSPACE_CONTROLLER,
  LISTENER_CONTROLLER,
  AGENT_DEPLOYMENT_CONTROLLER,
  AGENT_REVISION_CONTROLLER,
  BULK_EXPORT_DESTINATION_CONTROLLER,
  BULK_EXPORT_CONTROLLER,
  BULK_EXPORT_RUN_CONTROLLER,
  EXPORT_SCHEDULE_CONTROLLER,
  EXPORT_WEBHOOK_CONTROLLER,
  EXPORT_ARCHIVE_CONTROLLER,
  FORMER_CREDENTIALS_CONTROLLER,
  UNUSED_IMAGES_CONTROLLER,
  GIT_PUSH_CONTROLLER,
];

export const ALL_CONTROLLERS = Symbol('controllers of all kinds');

const PROVIDERS: readonly Provider[] = [
  {
    provide: ALL_CONTROLLERS,
    inject: CONTROLLERS,
    useFactory: (...controllers: readonly ControllerSpec[]) => controllers,
  },
  {
    provide: Readiness,
    inject: [Informers, LeaderElector],
    useFactory: (informers: Informers, leader: LeaderElector) => new Readiness(informers, leader),
  },
];

const WORK: Provider = {
  provide: ControllerWork,
  inject: [OWNED_PARTS, ALL_CONTROLLERS, Readiness, LeftUploads, LOG, CLOCK],
  useFactory: (
    owned: OwnedParts,
    controllers: readonly ControllerSpec[],
    readiness: Readiness,
    leftUploads: LeftUploads,
    log: Logger,
    clock: Clock,
  ) => new ControllerWork({ owned, controllers, readiness, leftUploads, log, clock }),
};

/** The whole controller: what all kinds share, a module for each kind, health, and the work that is made of them. */
@Module({})
export class ControllerModule {
  static with(surroundings: Surroundings): DynamicModule {
    return {
      module: ControllerModule,
      imports: [CoreModule.with(surroundings), ScheduleModule.forRoot(), ...KINDS],
      controllers: [HealthController, MetricsController],
      providers: [...PROVIDERS, WORK],
    };
  }
}
