import { type DynamicModule, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { LeftUploads } from './bulk-export-run/left-uploads.js';
import { ScheduleTicks } from './export-schedule/schedule-reconciler.js';
import { HealthController, MetricsController } from './health/health-controller.js';
import { Readiness } from './health/readiness.js';

/** Parts of the controller that have routes or ticks. */
export interface WiredParts {
  readonly readiness: Readiness;
  readonly uploads: LeftUploads;
  readonly ticks: ScheduleTicks;
}

/** The edge of the controller: probes, metrics and ticks. */
@Module({})
export class ControllerModule {
  static with({ readiness, uploads, ticks }: WiredParts): DynamicModule {
    return {
      module: ControllerModule,
      imports: [ScheduleModule.forRoot()],
      controllers: [HealthController, MetricsController],
      providers: [
        { provide: Readiness, useValue: readiness },
        { provide: LeftUploads, useValue: uploads },
        { provide: ScheduleTicks, useValue: ticks },
      ],
    };
  }
}
