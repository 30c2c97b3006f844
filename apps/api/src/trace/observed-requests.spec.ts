/** Metrics are counted for a whole process. @own-process */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  createLogger,
  readTelemetrySettings,
  renderMetrics,
  startTelemetry,
  type Telemetry,
} from '#lib/telemetry';
import { type OtlpReceiver, parseExposition, startOtlpReceiver } from '#lib/testing';
import { testApi } from '../testdata/test-api.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

describe('a request to the REST interface', () => {
  let collector: OtlpReceiver;
  let telemetry: Telemetry;

  // registered before the hooks of the api: it starts with telemetry on
  beforeAll(async () => {
    collector = await startOtlpReceiver();
    telemetry = await startTelemetry({
      program: 'api',
      log: createLogger('test', 'silent'),
      settings: readTelemetrySettings({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint }),
    });
  });
  const { api, tenant } = testApi();
  afterAll(() => collector.stop());

  const ask = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${api.url}${path}`, { headers: { 'x-api-key': tenant.key, ...headers } });

  it('returns the id that its caller gave', async () => {
    const answer = await ask('/sessions', { 'x-request-id': 'call-7' });
    expect(answer.headers.get('x-request-id')).toBe('call-7');
  });

  it.each(['/ok', '/runs/none', '/nowhere'])(
    'returns a new id from %s when the given one is not well-formed',
    async (path) => {
      const answer = await ask(path, { 'x-request-id': 'a b' });
      expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  it('counts by the template of its route, never by an id', async () => {
    const id = randomUUID();
    await (await ask(`/runs/${id}`)).text();
    const { text } = await renderMetrics('api');
    expect(text).not.toContain(id);
    const requests = parseExposition(text).get('agentplane_http_request_duration_seconds')?.samples;
    expect(requests).toContainEqual(
      expect.objectContaining({
        name: 'agentplane_http_request_duration_seconds_count',
        labels: expect.objectContaining({ method: 'GET', status_class: '4xx' }) as unknown,
      }),
    );
    const routes = new Set(requests?.map(({ labels }) => labels['route']));
    expect([...routes].filter((route) => route?.startsWith('/runs/'))).not.toEqual([]);
    expect(routes).toContain('unmatched');
  });

  it('records a request as child of its caller’s span and parent of the batch that it stores', async () => {
    const id = randomUUID();
    const start_time = '2026-11-20T21:59:04.635001Z';
    const run = { id, trace_id: id, dotted_order: `20261120T215904635001Z${id}`, start_time };
    const answer = await fetch(`${api.url}/runs/batch`, {
      method: 'POST',
      headers: {
        'x-api-key': tenant.key,
        'content-type': 'application/json',
        traceparent: `00-${TRACE}-00f067aa0ba902b7-01`,
      },
      body: JSON.stringify({
        post: [{ ...run, name: 'a', run_type: 'chain', session_name: 'demo' }],
        patch: [],
      }),
    });
    expect(answer.status).toBe(202);
    await telemetry.stop();
    const request = collector.spans.find(({ parentSpanId }) => parentSpanId === '00f067aa0ba902b7');
    expect(request).toMatchObject({ name: 'POST /runs/batch', service: 'agentplane-api', traceId: TRACE });
    expect(collector.spans.find(({ name }) => name === 'ingest batch')).toMatchObject({
      traceId: TRACE,
      parentSpanId: request?.spanId,
      attributes: expect.objectContaining({ post: 1, patch: 0 }) as unknown,
    });
  });
});
