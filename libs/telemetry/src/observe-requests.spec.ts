/** Metrics are counted for a whole process. @own-process */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Fastify, { type FastifyInstance } from 'fastify';
import { startOtlpReceiver, type OtlpReceiver } from '#lib/testing';
import { createLogger } from './logger.js';
import { metrics } from './metrics.js';
import { observeRequests } from './observe-requests.js';
import { clientLeft, currentScope } from './scope.js';
import { startTelemetry, type Telemetry } from './start-telemetry.js';
import { readTelemetrySettings } from './telemetry-settings.js';
import { withSpan } from './with-span.js';

describe('an observed server', () => {
  let server: FastifyInstance;
  let collector: OtlpReceiver;
  let telemetry: Telemetry;
  let url: string;
  const waiting = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<unknown>();

  beforeAll(async () => {
    collector = await startOtlpReceiver();
    telemetry = await startTelemetry({
      program: 'api',
      log: createLogger('test', 'silent'),
      settings: readTelemetrySettings({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint }),
    });
    server = Fastify();
    observeRequests(server);
    server.get('/things/:id', () => ({ id: currentScope().fields.requestId }));
    server.post('/things', async (request) =>
      withSpan('store', {}, () =>
        Promise.resolve({ id: currentScope().fields.requestId, body: request.body }),
      ),
    );
    server.get('/stream', (_request, reply) => {
      reply.hijack();
      reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
      reply.raw.end('data: 1\n\n');
    });
    server.get('/waiting', async () => {
      const left = clientLeft();
      waiting.resolve();
      await new Promise<void>((resolve) => left?.addEventListener('abort', () => resolve()));
      seen.resolve(left?.reason);
    });
    server.get('/broken', () => Promise.reject(new Error('broken')));
    url = await server.listen({ port: 0, host: '127.0.0.1' });
  });
  afterAll(async () => {
    await server.close();
    await collector.stop();
  });

  it('gives a request the id of its caller, in its work and in its answer', async () => {
    const answer = await fetch(`${url}/things/1`, { headers: { 'x-request-id': 'mine-1' } });
    expect(answer.headers.get('x-request-id')).toBe('mine-1');
    expect(await answer.json()).toEqual({ id: 'mine-1' });
  });

  it('reports to its work that the client has gone', async () => {
    const left = new AbortController();
    const answer = fetch(`${url}/waiting`, { signal: left.signal }).catch((error: Error) => error.name);
    await waiting.promise;
    left.abort();
    expect(await answer).toBe('AbortError');
    expect(await seen.promise).toHaveProperty(
      'message',
      'The client closed the connection before its turn came',
    );
    expect(clientLeft()).toBeUndefined();
  });

  it('keeps the id while a body is read', async () => {
    const answer = await fetch(`${url}/things`, {
      method: 'POST',
      headers: { 'x-request-id': 'mine-2', 'content-type': 'application/json' },
      body: JSON.stringify({ large: 'x'.repeat(200_000) }),
    });
    expect(await answer.json()).toMatchObject({ id: 'mine-2' });
  });

  it.each(['/stream', '/nowhere', '/broken'])('answers %s with a new id', async (path) => {
    const answer = await fetch(`${url}${path}`, { headers: { 'x-request-id': 'not good' } });
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    await answer.text();
  });

  it('counts by route template and status class', () => {
    const counts = metrics.httpRequestDuration
      .samples()
      .filter(({ metricName }) => metricName?.endsWith('_count'))
      .map(({ labels, value }) => `${labels.method} ${labels.route} ${labels.status_class} ${value}`);
    expect(counts.sort()).toEqual([
      'GET /broken 5xx 1',
      'GET /stream 2xx 1',
      'GET /things/:id 2xx 1',
      'GET unmatched 4xx 1',
      'POST /things 2xx 1',
    ]);
  });

  it('makes a request the child of its caller’s span and the parent of its own work', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const headers = { traceparent, 'content-type': 'application/json' };
    await fetch(`${url}/things`, { method: 'POST', headers, body: '{}' });
    await telemetry.stop();
    const request = collector.spans.find(({ parentSpanId }) => parentSpanId === '00f067aa0ba902b7');
    expect(request).toMatchObject({ name: 'POST /things', attributes: { 'http.response.status_code': 200 } });
    const store = collector.spans.find(({ parentSpanId }) => parentSpanId === request?.spanId);
    expect(store).toMatchObject({ name: 'store', traceId: '4bf92f3577b34da6a3ce929d0e0e4736' });
    expect(collector.spans.find(({ name }) => name === 'GET /broken')?.isError).toBe(true);
  });
});
