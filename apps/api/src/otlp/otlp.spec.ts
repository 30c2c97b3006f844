import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { context, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { pythonWith, testPostgres } from '#lib/testing';
import {
  prepareKube,
  prepareStore,
  runApi,
  type RunningApi,
  type TestTenant,
} from '../testdata/running-api.js';

const SEND_SPANS = join(import.meta.dirname, '..', 'testdata', 'send-spans.py');
/** A Python with OpenTelemetry and `langsmith`. */
const interpreter = pythonWith('langsmith', 'opentelemetry.exporter.otlp');
const PROTOBUF = 'application/x-protobuf';
const JSON_TYPE = 'application/json';
const TRACE = '0af7651916cd43dd8448eb211c80319c';

const postgres = testPostgres();
let api: RunningApi;
let tenant: TestTenant;

beforeAll(async () => {
  const [store, kube] = [
    await postgres.freshDatabase(prepareStore),
    await postgres.freshDatabase(prepareKube),
  ];
  api = await runApi(store.uri, kube.uri);
  tenant = await api.workspace();
});
afterAll(() => api.stop());

const runIdOf = (spanId: string) => `00000000-0000-0000-${spanId.slice(0, 4)}-${spanId.slice(4)}`;
const uuidOf = (hex: string) => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
const micros = (nanos: bigint) =>
  `${new Date(Number(nanos / 1_000_000n)).toISOString().slice(0, 20)}${String((nanos / 1_000n) % 1_000_000n).padStart(6, '0')}`;

interface Sending {
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
  readonly key?: string;
}

async function send(body: Buffer | object, sending: Sending = {}) {
  const { type = Buffer.isBuffer(body) ? PROTOBUF : JSON_TYPE, path = '/otel/v1/traces' } = sending;
  const answer = await fetch(api.url + path, {
    method: 'POST',
    headers: { 'x-api-key': sending.key ?? tenant.key, 'content-type': type, ...sending.headers },
    body: new Uint8Array(Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))),
  });
  expect(api.services.ingestion.heldBytes).toBe(0);
  const bytes = Buffer.from(await answer.arrayBuffer());
  return { status: answer.status, type: answer.headers.get('content-type'), headers: answer.headers, bytes };
}

const requestOf = (...spans: readonly object[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
const spanOf = (more: object = {}) => ({
  traceId: randomBytes(16).toString('hex'),
  spanId: randomBytes(8).toString('hex'),
  name: 'span',
  startTimeUnixNano: '1763640000000000000',
  endTimeUnixNano: '1763640001000000000',
  ...more,
});
/** Field 1 of each of the spans of a request that holds one span alone: 16 bytes of trace, 8 of span. */
const protobufOf = (traceId: string, spanId: string, name = 'n') => {
  const field = (tag: number, value: Buffer) => Buffer.concat([Buffer.from([tag, value.length]), value]);
  const span = Buffer.concat([
    field(0x0a, Buffer.from(traceId, 'hex')),
    field(0x12, Buffer.from(spanId, 'hex')),
    field(0x2a, Buffer.from(name)),
  ]);
  return field(0x0a, field(0x12, field(0x12, span)));
};
const read = async (id: string) => (await tenant.call('GET', `/runs/${id}`)).json;

/** A trace of three spans, each sent when it ends: the root last. */
async function sendWorkload(exporter: JsonExporter, project: string) {
  const resource = resourceFromAttributes({ 'service.name': project });
  const provider = new TracerProvider({
    resource,
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('shop', '1.2');
  const below = (parent: Span) => trace.setSpan(context.active(), parent);
  const root = tracer.startSpan('agent', { startTime: [1_763_640_000, 1_000] });
  const call = tracer.startSpan('call', { startTime: [1_763_640_000, 2_000] }, below(root));
  call.setAttributes({
    'gen_ai.operation.name': 'chat',
    'gen_ai.system': 'openai',
    'gen_ai.request.model': 'gpt',
    'gen_ai.input.messages': '[{"role":"user","content":"Grüezi 🙂"}]',
    'gen_ai.completion.0.content': 'Hi',
    'gen_ai.usage.input_tokens': 3,
    'gen_ai.usage.output_tokens': 4,
  });
  call.addEvent('cached', { hit: true }, [1_763_640_000, 3_000]);
  const tool = tracer.startSpan('look', { startTime: [1_763_640_000, 4_000] }, below(call));
  tool.setAttribute('gen_ai.tool.name', 'look');
  tool.setStatus({ code: SpanStatusCode.ERROR, message: 'wrong' });
  tool.end([1_763_640_000, 5_000]);
  call.end([1_763_640_001, 0]);
  root.end([1_763_640_002, 0]);
  await provider.forceFlush();
  await provider.shutdown();
  const [rootId, callId, toolId] = [root, call, tool].map((span) => runIdOf(span.spanContext().spanId));
  return { trace: uuidOf(root.spanContext().traceId), rootId, callId, toolId } as Readonly<
    Record<'trace' | 'rootId' | 'callId' | 'toolId', string>
  >;
}

describe('POST of spans', () => {
  it.each([
    ['JSON', JsonExporter, '/otel/v1/traces'],
    ['protobuf', ProtobufExporter, '/api/v1/otel/v1/traces'],
  ] as const)('stores what the exporter of %s sends, field by field', async (kind, Exporter, path) => {
    const headers = { 'x-api-key': tenant.key, 'Langsmith-Project': kind };
    const exporter = new Exporter({ url: api.url + path, headers, compression: 'gzip' as never });
    const ids = await sendWorkload(exporter, kind);
    const [root, call, tool] = await Promise.all([ids.rootId, ids.callId, ids.toolId].map(read));
    const project = (await tenant.call('GET', `/sessions?name=${kind}`)).json[0];
    const times = ['000001', '000002', '000004'].map((fraction) => `20251120T120000${fraction}Z`);
    const orders = [
      `${times[0]}${ids.rootId}`,
      `${times[0]}${ids.rootId}.${times[1]}${ids.callId}`,
      `${times[0]}${ids.rootId}.${times[1]}${ids.callId}.${times[2]}${ids.toolId}`,
    ];
    const scope = { scope: { name: 'shop', version: '1.2' } };
    expect(root).toMatchObject({
      name: 'agent',
      run_type: 'chain',
      status: 'success',
      trace_id: ids.trace,
      error: null,
      parent_run_id: null,
      parent_run_ids: [],
      dotted_order: orders[0],
      session_id: project.id,
      extra: { metadata: { 'service.name': kind }, otel: scope },
    });
    expect(call).toMatchObject({
      name: 'call',
      run_type: 'llm',
      status: 'success',
      trace_id: ids.trace,
      dotted_order: orders[1],
      parent_run_id: ids.rootId,
      parent_run_ids: [ids.rootId],
      session_id: project.id,
      prompt_tokens: 3,
      completion_tokens: 4,
      total_tokens: 7,
      inputs: { messages: [{ role: 'user', content: 'Grüezi 🙂' }] },
      outputs: { messages: [{ content: 'Hi' }] },
      events: [{ name: 'cached', time: '2025-11-20T12:00:00.000003Z', kwargs: { hit: true } }],
      extra: {
        metadata: { ls_provider: 'openai', ls_model_name: 'gpt', 'gen_ai.operation.name': 'chat' },
        invocation_params: { model: 'gpt' },
      },
    });
    expect(tool).toMatchObject({
      name: 'look',
      run_type: 'tool',
      status: 'error',
      error: 'wrong',
      dotted_order: orders[2],
      parent_run_id: ids.callId,
      parent_run_ids: [ids.rootId, ids.callId],
    });
    expect(Date.parse(tool.start_time)).toBe(Date.parse('2025-11-20T12:00:00.000Z'));
    const found = await tenant.call('POST', '/runs/query', { session: [project.id], trace: ids.trace });
    expect(found.json.runs.map(({ id }: { id: string }) => id).sort()).toEqual(
      [ids.rootId, ids.callId, ids.toolId].sort(),
    );
  });

  it('takes the id of a trace wherever its root is meant', async () => {
    const [traceId, other] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')];
    const spans = [
      spanOf({ traceId, name: 'top', startTimeUnixNano: '1763640000000000000' }),
      spanOf({ traceId, name: 'below', startTimeUnixNano: '1763640000000000000' }),
    ] as const;
    const root = runIdOf(spans[0].spanId);
    expect((await send(requestOf({ ...spans[1], parentSpanId: spans[0].spanId }))).status).toBe(200);
    // the first span whose parent is missing represents the root
    const early = await tenant.call('GET', `/runs/${uuidOf(traceId)}`);
    expect(early.json).toMatchObject({ name: 'below', parent_run_id: root, parent_missing: true });
    expect((await send(requestOf(spans[0]))).status).toBe(200);
    const found = await tenant.call('GET', `/runs/${uuidOf(traceId)}`);
    expect(found.json).toMatchObject({ id: root, name: 'top', parent_missing: false });
    const asked = { project_id: found.json.session_id, selects: ['ID', 'NAME'] };
    const queried = (trace_ids: readonly string[]) =>
      tenant.call('POST', '/api/v2/traces/query', { ...asked, trace_ids });
    expect((await queried([uuidOf(traceId)])).json.items).toMatchObject([{ root_run: { id: root } }]);
    expect((await queried([root])).json.items).toHaveLength(1);
    expect((await queried([uuidOf(other)])).json.items).toEqual([]);
    const id = uuidOf(traceId);
    const feedback = { key: 'liked', score: 1, run_id: id, trace_id: id };
    expect((await tenant.call('POST', '/feedback', feedback)).json).toMatchObject({ run_id: root });
    expect((await read(root)).feedback_stats).toMatchObject({ liked: { n: 1 } });
  });

  it('stores a span once, however often it is sent', async () => {
    const span = spanOf();
    for (let times = 0; times < 2; times++) expect((await send(requestOf(span))).bytes.toString()).toBe('{}');
    const { json } = await tenant.call('POST', '/runs/query', { id: [runIdOf(span.spanId)] });
    expect(json.runs).toHaveLength(1);
    expect(json.runs[0]).toMatchObject({ name: 'span', status: 'success' });
  });

  it.each([
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ] as const)('takes spans compressed as %s', async (encoding, compress) => {
    const spanId = randomBytes(8).toString('hex');
    const answer = await send(compress(protobufOf(TRACE, spanId)), {
      headers: { 'content-encoding': encoding },
    });
    expect(answer).toMatchObject({ status: 200, type: PROTOBUF, bytes: Buffer.alloc(0) });
    expect(await read(runIdOf(spanId))).toMatchObject({ name: 'n', trace_id: uuidOf(TRACE) });
  });

  it('says which spans it refused, in the encoding of the request, and keeps it as a problem', async () => {
    const other = await api.workspace();
    const good = spanOf();
    const bad = spanOf({ attributes: [{ key: 'langsmith.span.id', value: { stringValue: 'x' } }] });
    const json = await send(requestOf(good, { ...good, traceId: 'ab' }, bad), { key: other.key });
    expect(json.status).toBe(200);
    expect(JSON.parse(json.bytes.toString()).partialSuccess).toEqual({
      rejectedSpans: '2',
      errorMessage: expect.stringMatching(
        /^2 spans were refused: resourceSpans\.0\.scopeSpans\.0\.spans\.1\.traceId: .*; resourceSpans\.0\.scopeSpans\.0\.spans\.2\.id: /,
      ),
    });
    const protobuf = await send(protobufOf(TRACE, '0000000000000000'), { key: other.key });
    expect(protobuf.status).toBe(200);
    // partial_success { rejected_spans: 1, error_message }
    expect(protobuf.bytes[0]).toBe(0x0a);
    expect(protobuf.bytes.subarray(2, 5)).toEqual(Buffer.from([0x08, 0x01, 0x12]));
    expect(protobuf.bytes.toString()).toContain('spanId should be 8 bytes');
    const { recent } = (await other.call('GET', '/ingest-problems')).json;
    expect(recent.map(({ type }: { type: string }) => type).sort()).toEqual([
      'otlp_invalid',
      'otlp_invalid',
      'uuid_parsing',
    ]);
  });

  it('refuses spans beyond what a request may hold when they are runs, and stores those before', async () => {
    const other = await api.workspace();
    const attributes = [{ key: 'repeated', value: { stringValue: 'x'.repeat(8_000) } }];
    const spans = Array.from({ length: 4_500 }, () => spanOf());
    const answer = await send(
      { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans }] }] },
      { key: other.key, headers: { 'Langsmith-Project': 'repeated' } },
    );
    expect(answer.status).toBe(200);
    const { partialSuccess } = JSON.parse(answer.bytes.toString());
    const rejected = Number(partialSuccess?.rejectedSpans);
    expect(rejected).toBeGreaterThan(300);
    expect(rejected).toBeLessThan(600);
    expect(partialSuccess.errorMessage).toMatch(
      /^\d+ spans were refused: .*the runs of this request take more than 33554432 bytes; send fewer spans at a time/,
    );
    const { json } = await other.call('POST', '/runs/stats', { session_name: 'repeated' });
    expect(json.run_count ?? 4_500 - rejected).toBe(4_500 - rejected);
    const { recent } = (await other.call('GET', '/ingest-problems')).json;
    expect(recent).toMatchObject([{ type: 'too_large' }]);
  });

  it('names what it left out of a span that it stored', async () => {
    const events = Array.from({ length: 1_001 }, () => ({ name: 'e' }));
    const { status, bytes } = await send(requestOf(spanOf({ events })));
    expect(status).toBe(200);
    expect(JSON.parse(bytes.toString()).partialSuccess).toEqual({
      rejectedSpans: '0',
      errorMessage: expect.stringContaining('1 attributes, values, events or links were left out'),
    });
  });

  it('names figures of a span that are none', async () => {
    const other = await api.workspace();
    const attributes = [
      { key: 'gen_ai.request.model', value: { stringValue: 'm' } },
      { key: 'gen_ai.usage.input_tokens', value: { intValue: '-5' } },
      { key: 'gen_ai.usage.output_tokens', value: { stringValue: 'many' } },
      { key: 'operation.cost', value: { doubleValue: 1e9 } },
    ];
    const { status, bytes } = await send(requestOf(spanOf({ attributes })), { key: other.key });
    expect(status).toBe(200);
    const named = ['input_tokens', 'output_tokens', 'total_tokens', 'total_cost'];
    const message = named.map((name) => `usage_metadata.${name}`).join(', ');
    expect(bytes.toString()).toContain(message);
    const { recent } = (await other.call('GET', '/ingest-problems')).json;
    expect(recent).toMatchObject([
      { kind: 'dropped', type: 'usage_not_understood', message: expect.stringContaining(message) },
    ]);
  });

  it.each<[status: number, code: number, why: string, body: Buffer | object, sending: Sending]>([
    [400, 3, 'no protobuf', Buffer.from('nonsense'), {}],
    [400, 3, 'no JSON of spans', { resourceSpans: 1 }, {}],
    [400, 3, 'no gzip', Buffer.from('nonsense'), { headers: { 'content-encoding': 'gzip' } }],
    [400, 3, 'an agent address', Buffer.alloc(0), { headers: { 'Langsmith-Agent-Id': 'a' } }],
    [401, 16, 'a wrong key', Buffer.alloc(0), { key: 'lsv2_wrong' }],
    [415, 3, 'multipart', Buffer.alloc(0), { type: 'multipart/form-data; boundary=x' }],
    [415, 3, 'plain text', Buffer.from('x'), { type: 'text/plain' }],
    [415, 3, 'brotli', Buffer.from('x'), { headers: { 'content-encoding': 'br' } }],
    [
      413,
      3,
      'a body that is too long',
      gzipSync(Buffer.alloc(40 << 20)),
      { headers: { 'content-encoding': 'gzip' } },
    ],
  ])('answers %d with a status of code %d for %s', async (status, code, _, body, sending) => {
    const answer = await send(body, sending);
    expect(answer.status).toBe(status);
    if (Buffer.isBuffer(body) && sending.type === undefined) {
      expect(answer.type).toBe(PROTOBUF);
      expect(answer.bytes.subarray(0, 2)).toEqual(Buffer.from([0x08, code]));
    } else expect(JSON.parse(answer.bytes.toString())).toMatchObject({ code, message: expect.any(String) });
  });

  it.each(['metrics', 'logs'])('says of %s that they are not stored, and what to set', async (signal) => {
    for (const path of [`/otel/v1/${signal}`, `/api/v1/otel/v1/${signal}`]) {
      const json = await send({ resourceMetrics: [] }, { path });
      expect([json.status, JSON.parse(json.bytes.toString())]).toEqual([
        200,
        { partialSuccess: { errorMessage: expect.stringContaining('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') } },
      ]);
      const binary = await send(Buffer.alloc(100_000), { path });
      expect([binary.status, binary.type]).toEqual([200, PROTOBUF]);
      expect(binary.bytes.toString()).toContain('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
    }
  });

  it('refuses protobuf elsewhere', async () => {
    expect((await send(Buffer.alloc(3), { path: '/runs/batch' })).status).toBe(415);
  });

  it('lets the key of a deployment write its own project alone', async () => {
    const grant = { scope: 'deployment', deployment: 'agent', project: 'own' } as const;
    const { key } = await api.store.apiKeys.mint(tenant.tenantId, { name: 'agent', ...grant });
    const span = spanOf();
    expect((await send(requestOf(span), { key })).status).toBe(200);
    const [project] = (await tenant.call('GET', '/sessions?name=own')).json;
    expect(await read(runIdOf(span.spanId))).toMatchObject({ session_id: project.id });
    const refused = await send(requestOf(spanOf()), { key, headers: { 'Langsmith-Project': 'other' } });
    expect(refused.status).toBe(403);
  });

  it('reads a project from the header as UTF-8, and that of the span first', async () => {
    const [one, other] = [spanOf(), spanOf()];
    const attributes = [{ key: 'langsmith.trace.session_name', value: { stringValue: 'of the span' } }];
    const name = `Grüezi ${randomUUID()}`;
    const headers = { 'Langsmith-Project': Buffer.from(name).toString('latin1') };
    await send(requestOf(one, { ...other, attributes }), { headers });
    const sessions = (await tenant.call('GET', '/sessions?limit=100')).json as { id: string; name: string }[];
    const nameOf = (id: string) => sessions.find((session) => session.id === id)?.name;
    expect(nameOf((await read(runIdOf(one.spanId))).session_id)).toBe(name);
    expect(nameOf((await read(runIdOf(other.spanId))).session_id)).toBe('of the span');
  });

  it('answers whatever bytes come with 200, 400 or 413', async () => {
    const whole = protobufOf(TRACE, '00f067aa0ba902b7');
    for (let round = 0; round < 60; round++) {
      const body = round % 4 === 0 ? randomBytes(50) : Buffer.from(whole);
      body[round % body.length] = (round * 37) % 256;
      expect([200, 400, 413]).toContain((await send(body)).status);
    }
  });

  (interpreter ? it : it.skip)('stores what the exporter of Python sends', async () => {
    const text = await python('otel', 'python');
    const sent = JSON.parse(text);
    // nanoseconds since 1970 are no safe integer
    const start = BigInt(/"start": *(\d+)/.exec(text)?.[1] ?? '');
    const [root, child] = [await read(runIdOf(sent.root)), await read(runIdOf(sent.child))];
    expect(root).toMatchObject({
      name: 'agent',
      status: 'success',
      trace_id: uuidOf(sent.trace),
      parent_run_id: null,
      start_time: expect.stringContaining(micros(start)),
      extra: { metadata: { 'service.name': 'shop' }, otel: { scope: { name: 'shop' } } },
    });
    expect(child).toMatchObject({
      name: 'call',
      run_type: 'llm',
      parent_run_ids: [root.id],
      total_tokens: 7,
      inputs: { messages: [{ role: 'user', content: 'Grüezi 🙂' }] },
    });
    const { json } = await tenant.call('POST', '/runs/query', { session: [root.session_id], error: true });
    expect(json.runs).toMatchObject([
      { name: 'failing', error: expect.stringMatching(/^wrong\n\nTraceback/) },
    ]);
  });

  (interpreter ? it : it.skip)('stores what the LangSmith client sends as spans', async () => {
    await python('langsmith', 'ls-otel');
    const [project] = (await tenant.call('GET', '/sessions?name=ls-otel')).json;
    const { json } = await tenant.call('POST', '/runs/query', { session: [project.id] });
    const byName = new Map(json.runs.map((run: { name: string }) => [run.name, run]));
    const root = byName.get('agent') as { id: string; trace_id: string };
    expect(json.runs).toHaveLength(2);
    expect(root).toMatchObject({
      run_type: 'chain',
      status: 'success',
      parent_run_id: null,
      inputs: { text: 'Grüezi' },
      outputs: { trace: expect.any(String) },
    });
    expect(byName.get('call')).toMatchObject({
      run_type: 'llm',
      status: 'success',
      tags: ['a', 'b'],
      total_tokens: 7,
      parent_run_id: root.id,
      parent_run_ids: [root.id],
      trace_id: root.trace_id,
      inputs: { text: 'Grüezi' },
      outputs: { answer: 'Grüezi', usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } },
      extra: { metadata: { ls_model_name: 'm' } },
    });
  });

  async function python(how: string, project: string): Promise<string> {
    const run = promisify(execFile)(interpreter, [SEND_SPANS, api.url, tenant.key, how, project], {
      timeout: 60_000,
    });
    return (await run).stdout;
  }
});
