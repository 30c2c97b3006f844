import { PLATFORM_VERSION } from '#lib/config';
import { errorText } from '#lib/errors';
import type { Logger } from './logger.js';
import { metrics } from './metrics.js';
import type { Program } from './program.js';
import { readTelemetrySettings, type TelemetrySettings } from './telemetry-settings.js';
import { activeTracing, useTracing } from './tracing.js';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { claimAddress } from '#lib/held-sockets';
import { limitServer, serverOptions } from '#lib/http';
import { renderMetrics } from './render-metrics.js';

// not by `import`: that reads every export of it, and one of them loads Node's WebSocket client, 6 MB and 60 ms
const { createServer } = process.getBuiltinModule('node:http');

interface MetricsServerOptions {
  readonly program: Program;
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly log: Logger;
}

interface MetricsServer {
  readonly name: 'metrics';
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * `GET /metrics` and `GET /healthz` on an internal address. Holds no secret, asks for no key: who reaches the address may
 * read the numbers.
 */
async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const { program, host, port, log } = options;
  const server = createServer(serverOptions(), (request, response) => {
    answer(program, request, response).catch((error: unknown) => {
      log.error({ error: errorText(error) }, 'rendering the metrics failed');
      response.writeHead(500).end();
    });
  });
  limitServer(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(claimAddress({ host, port }), resolve);
  });
  // an idle server must not keep a program alive whose work is done
  server.unref();
  server.on('error', (error) => log.warn({ error: errorText(error) }, 'the metrics server failed'));
  return {
    name: 'metrics',
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(program: Program, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url?.split('?', 1)[0];
  if (path !== '/metrics' && path !== '/healthz') return void response.writeHead(404).end();
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return void response.writeHead(405, { allow: 'GET, HEAD' }).end();
  if (path === '/healthz') return void response.writeHead(200, { 'content-type': 'text/plain' }).end('ok\n');
  const { contentType, text } = await renderMetrics(program);
  response.writeHead(200, { 'content-type': contentType });
  response.end(request.method === 'HEAD' ? undefined : text);
}

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
