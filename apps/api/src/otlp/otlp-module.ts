import { Module } from '@nestjs/common';
import type { Admission } from '#lib/admission';
import type { TraceStore } from '#lib/trace-store';
import type { ApiConfig } from '../config.js';
import { API_CONFIG, TRACE_STORE } from '../core/tokens.js';
import { TRACE_BODIES } from '../trace/trace-bodies.js';
import { TraceModule } from '../trace/trace-module.js';
import { OtlpController } from './otlp-controller.js';
import { SpanIngestion } from './span-ingestion.js';

/** Spans of OpenTelemetry, stored as runs. */
@Module({
  imports: [TraceModule],
  controllers: [OtlpController],
  providers: [
    {
      provide: SpanIngestion,
      inject: [TRACE_STORE, TRACE_BODIES, API_CONFIG],
      useFactory: (store: TraceStore, bodies: Admission, { maxBodyBytes }: Pick<ApiConfig, 'maxBodyBytes'>) =>
        new SpanIngestion(store, bodies, maxBodyBytes),
    },
  ],
})
export class OtlpModule {}
