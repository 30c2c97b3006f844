import { type DynamicModule, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { BulkExportModule } from './bulk-export/bulk-export-module.js';
import { CatalogueModule } from './catalogue/catalogue-controller.js';
import { type ApiParts, CoreModule } from './core/core-module.js';
import { DatasetModule } from './dataset/dataset-module.js';
import { DeploymentModule } from './deployment/deployment-module.js';
import { DeploymentEventModule } from './deployment-event/deployment-event-module.js';
import { DeploymentLogModule } from './deployment-log/deployment-log-module.js';
import { ExplorerController } from './explorer/explorer-controller.js';
import { FeedbackModule } from './feedback/feedback-module.js';
import { KeyModule } from './key/keys-controller.js';
import { ListenerModule } from './listener/listeners-controller.js';
import { OtlpModule } from './otlp/otlp-controller.js';
import { PageModule } from './page/page-module.js';
import { PriceModule } from './price/price-module.js';
import { PromptModule } from './prompt/prompt-module.js';
import { StatisticsModule } from './statistics/statistics-controller.js';
import { TenancyModule } from './tenancy/tenancy-module.js';
import { ThreadsModule } from './thread/threads-module.js';
import { ShareModule } from './share/shares-controller.js';
import { TraceModule } from './trace/trace-module.js';
import { WorkspaceModule } from './workspace/workspaces-controller.js';
import { OpenApiController } from './wire/openapi-controller.js';

const FEATURES = [
  TenancyModule,
  WorkspaceModule,
  KeyModule,
  TraceModule,
  ShareModule,
  PageModule,
  FeedbackModule,
  OtlpModule,
  StatisticsModule,
  PriceModule,
  PromptModule,
  DatasetModule,
  ThreadsModule,
  DeploymentModule,
  DeploymentLogModule,
  DeploymentEventModule,
  ListenerModule,
  BulkExportModule,
  CatalogueModule,
];

/**
 * The whole api: the parts that all features share, a module for each feature, the document that describes
 * them.
 */
@Module({})
export class ApiModule {
  static with(parts: ApiParts): DynamicModule {
    return apiOf(CoreModule.with(parts), [ScheduleModule.forRoot()]);
  }

  /** The routes alone, to be described and not to be called. */
  static routes(): DynamicModule {
    return apiOf(CoreModule.empty(), []);
  }
}

function apiOf(core: DynamicModule, more: readonly DynamicModule[]): DynamicModule {
  return {
    module: ApiModule,
    imports: [core, ...more, ...FEATURES],
    controllers: [OpenApiController, ExplorerController],
  };
}
