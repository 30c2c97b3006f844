/** Metrics are counted for a whole process. @own-process */
import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer } from 'node:net';
import { PLATFORM_VERSION } from '#lib/config';
import { parseExposition, startOtlpReceiver, type OtlpReceiver } from '#lib/testing';
import { createLogger } from './logger.js';
import { startTelemetry, type Telemetry } from './start-telemetry.js';
import { readTelemetrySettings } from './telemetry-settings.js';
import { parseTraceParent } from './trace-parent.js';
import { withSpan } from './with-span.js';

const log = createLogger('test', 'silent');
const stops: (() => Promise<unknown>)[] = [];

async function start(environment: Readonly<Record<string, string>>): Promise<Telemetry> {
  const telemetry = await startTelemetry({
    program: 'controller',
    log,
    settings: readTelemetrySettings(environment),
  });
  stops.push(() => telemetry.stop());
  return telemetry;
}

async function receiver(): Promise<OtlpReceiver> {
  const started = await startOtlpReceiver();
  stops.push(() => started.stop());
  return started;
}

afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

describe('the internal server', () => {
  it('serves metrics and health, and nothing else', async () => {
    const { metricsPort } = await start({ AGENTPLANE_METRICS_PORT: '0' });
    const url = `http://127.0.0.1:${metricsPort}`;
    const scrape = await fetch(`${url}/metrics`);
    expect(scrape.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(parseExposition(await scrape.text()).get('agentplane_build_info')?.samples[0]).toEqual({
      name: 'agentplane_build_info',
      labels: { program: 'controller', version: PLATFORM_VERSION },
      value: 1,
    });
    const health = await fetch(`${url}/healthz`);
    expect([health.status, await health.text()]).toEqual([200, 'ok\n']);
    expect((await fetch(`${url}/`)).status).toBe(404);
    expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(405);
  });

  it('leaves a program running when the port is taken', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    stops.push(() => new Promise((resolve) => other.close(resolve)));
    const address = other.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    expect((await start({ AGENTPLANE_METRICS_PORT: String(port) })).metricsPort).toBeUndefined();
  });
});

describe('tracing', () => {
  it('sends spans with their parents, attributes, errors and the configured headers', async () => {
    const collector = await receiver();
    const telemetry = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-token=abc',
    });
    const work = withSpan('outer', { rows: 3 }, () =>
      withSpan('inner', {}, () => Promise.reject(new Error('broken'))),
    );
    await expect(work).rejects.toThrow('broken');
    await telemetry.stop();
    const outer = collector.spans.find(({ name }) => name === 'outer');
    const inner = collector.spans.find(({ name }) => name === 'inner');
    expect(outer).toMatchObject({ service: 'agentplane-controller', attributes: { rows: 3 }, isError: true });
    expect(outer?.parentSpanId).toBeUndefined();
    expect(inner).toMatchObject({ traceId: outer?.traceId, parentSpanId: outer?.spanId, isError: true });
    expect(collector.headers['x-token']).toBe('abc');
  });

  it('continues the trace of another process', async () => {
    const collector = await receiver();
    const telemetry = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
    const parent = parseTraceParent('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01');
    await withSpan('continued', {}, () => Promise.resolve(), parent);
    await telemetry.stop();
    expect(collector.spans).toMatchObject([{ traceId: parent?.traceId, parentSpanId: parent?.spanId }]);
  });

  it('makes no spans where no endpoint is configured', async () => {
    await start({});
    expect(await withSpan('nothing', {}, () => Promise.resolve(7))).toBe(7);
  });

  it('lets a program stop when the collector is down', async () => {
    const telemetry = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
      OTEL_EXPORTER_OTLP_TIMEOUT: '200',
    });
    await withSpan('lost', {}, () => Promise.resolve());
    await telemetry.stop();
  });
});
