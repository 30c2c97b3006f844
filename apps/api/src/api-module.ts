import { Module, type DynamicModule } from '@nestjs/common';
import { BulkExports } from './bulk-export/bulk-exports.js';
import { BulkExportsController } from './bulk-export/bulk-exports-controller.js';
import { Destinations } from './bulk-export/destinations.js';
import { Deployments } from './deployment/deployments.js';
import { DeploymentsController } from './deployment/deployments-controller.js';
import { IntegrationsController } from './deployment/integrations-controller.js';
import { Keys } from './key/keys.js';
import { KeysController } from './key/keys-controller.js';
import { Listeners } from './listener/listeners.js';
import { ListenersController } from './listener/listeners-controller.js';
import type { Services } from './services.js';
import { AuthController } from './tenancy/auth-controller.js';
import { InfoController } from './trace/info-controller.js';
import { RunsController } from './trace/runs-controller.js';
import { SessionsController } from './trace/sessions-controller.js';
import { TraceIngestion } from './trace/trace-ingestion.js';
import { Traces } from './trace/traces.js';
import { OpenApi } from './wire/openapi.js';
import { OpenApiController } from './wire/openapi-controller.js';

const CONTROLLERS = [
  InfoController,
  OpenApiController,
  AuthController,
  KeysController,
  RunsController,
  SessionsController,
  DeploymentsController,
  ListenersController,
  IntegrationsController,
  BulkExportsController,
];

/** Routes, with what they call handed in ready. */
@Module({})
export class ApiModule {
  static with(services: Services): DynamicModule {
    return {
      module: ApiModule,
      controllers: CONTROLLERS,
      providers: [
        { provide: OpenApi, useValue: new OpenApi(ApiModule.routes()) },
        { provide: TraceIngestion, useValue: services.ingestion },
        { provide: Traces, useValue: services.traces },
        { provide: Deployments, useValue: services.deployments },
        { provide: Listeners, useValue: services.listeners },
        { provide: Destinations, useValue: services.destinations },
        { provide: BulkExports, useValue: services.exports },
        { provide: Keys, useValue: services.keys },
      ],
    };
  }

  /** The routes alone, to be described and not to be called. */
  static routes(): DynamicModule {
    const called = [OpenApi, TraceIngestion, Traces, Deployments, Listeners, Destinations, BulkExports, Keys];
    return {
      module: ApiModule,
      controllers: CONTROLLERS,
      providers: called.map((provide) => ({ provide, useValue: {} })),
    };
  }
}
