import { PLATFORM_VERSION } from '#lib/config';
import { errorText } from '#lib/errors';
import type { Logger } from './logger.js';
import { metrics } from './metrics.js';
import { type MetricsServer, startMetricsServer } from './metrics-server.js';
import type { Program } from './program.js';
import { readTelemetrySettings, type TelemetrySettings } from './telemetry-settings.js';
import { activeTracing, useTracing } from './tracing.js';

export interface TelemetryOptions {
  readonly program: Program;
  readonly log: Logger;
  /** Defaults to those of the environment. */
  readonly settings?: TelemetrySettings;
}

/** The telemetry of a program; the first that it owns, so that it is stopped last and sends the last spans. */
export interface Telemetry {
  readonly name: 'telemetry';
  /** Port of `/metrics`; undefined when none is served. */
  readonly metricsPort: number | undefined;
  stop(): Promise<void>;
}

/**
 * Serves the metrics of this process and sends its spans, each where it is configured. A port that is taken costs the
 * program its metrics and nothing else: they must never be why it does not run.
 */
export async function startTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const { program, log, settings = readTelemetrySettings() } = options;
  metrics.buildInfo.set(1, { program, version: PLATFORM_VERSION });
  if (settings.tracing) {
    const { openTracing } = await import('./otlp-tracing.js');
    useTracing(
      openTracing(settings.tracing, {
        'service.name': `agentplane-${program}`,
        'service.version': PLATFORM_VERSION,
      }),
    );
  }
  const server = settings.metrics && (await serve(options, settings.metrics));
  return {
    name: 'telemetry',
    metricsPort: server?.port,
    async stop() {
      await server?.stop();
      const tracing = activeTracing();
      useTracing(undefined);
      // a collector that is down must not fail an orderly stop
      await tracing
        ?.stop()
        .catch((error: unknown) =>
          log.warn({ error: errorText(error) }, 'sending the last spans failed; they are lost'),
        );
    },
  };
}

async function serve(
  { program, log }: TelemetryOptions,
  address: NonNullable<TelemetrySettings['metrics']>,
): Promise<MetricsServer | undefined> {
  try {
    return await startMetricsServer({ program, ...address, log });
  } catch (error) {
    log.warn(
      { ...address, error: errorText(error) },
      'listening for /metrics failed; this process serves none',
    );
    return undefined;
  }
}
