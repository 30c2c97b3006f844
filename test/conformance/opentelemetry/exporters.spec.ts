import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { pythonWith } from '#lib/testing';
import { testApi } from '../../../apps/api/src/testdata/test-api.js';
import type { TestTenant } from '../../../apps/api/src/testdata/running-api.js';
import { ObservedRequests } from './observed-requests.js';
import {
  BASE_SECONDS,
  type RecordedSpan,
  type RecordedTrace,
  type Sent,
  sendWorkload,
  WORKLOAD,
} from './send-workload.js';

/** A Python with the packages of install-python.sh. */
const python = pythonWith('opentelemetry.exporter.otlp');
const SCRIPT = join(import.meta.dirname, 'send-workload.py');
const PROJECT = 'exported';

type Run = Readonly<Record<string, unknown>>;
type Address = Readonly<Record<'url' | 'key', string>>;

const runIdOf = (spanId: string): string => `00000000-0000-0000-${spanId.slice(0, 4)}-${spanId.slice(4)}`;
const traceIdOf = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** Microseconds of a second after 12:00 o'clock, as the api writes times: what is finer is cut. */
function timeOf(ns: number): string {
  const iso = new Date((BASE_SECONDS + Math.floor(ns / 1e9)) * 1_000).toISOString();
  return `${iso.slice(0, 20)}${String(Math.floor((ns % 1e9) / 1_000)).padStart(6, '0')}Z`;
}

function segmentOf(startNs: number, runId: string): string {
  return `${timeOf(startNs).slice(0, 26).replaceAll(/[-:.]/g, '')}Z${runId}`;
}

/** Fields that a run has when its span says nothing of them. */
const NOTHING: Run = {
  error: null,
  events: null,
  tags: [],
  inputs: null,
  outputs: null,
  first_token_time: null,
};

const SUMS = [
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'prompt_cost',
  'completion_cost',
  'total_cost',
];

/** Runs that have tokens of their own. */
const CALLS = ['llm', 'embedding'];

/** Tokens and costs of a run are its own, else those of the calls of models below it. */
function sumsOf({ id, run: whole }: RecordedSpan, spans: readonly RecordedSpan[]): Run {
  const parts = [id];
  for (const span of spans) if (span.parent !== undefined && parts.includes(span.parent)) parts.push(span.id);
  const below = spans.filter(
    (span) => parts.includes(span.id) && CALLS.includes(String(span.run['run_type'])),
  );
  const runs = whole['total_tokens'] === undefined ? below.map(({ run }) => run) : [whole];
  return Object.fromEntries(
    SUMS.map((name) => {
      const own = runs.flatMap((run) => (run[name] === undefined ? [] : [Number(run[name])]));
      const sum = own.reduce((one, other) => one + other, 0);
      if (!name.endsWith('_cost')) return [name, sum];
      return [name, own.length === 0 ? null : sum.toFixed(10)];
    }),
  );
}

/** The runs that a recorded trace must become. */
function runsOf({ traceId, scope, spans }: RecordedTrace): readonly Run[] {
  const orders = new Map<string, string>();
  const parents = new Map<string, readonly string[]>();
  return spans.map((span) => {
    const { id: spanId, parent, startNs, endNs, run } = span;
    const id = runIdOf(spanId);
    const above = parent === undefined ? undefined : runIdOf(parent);
    const before = above === undefined ? '' : `${orders.get(above)}.`;
    const ancestors = above === undefined ? [] : [...(parents.get(above) ?? []), above];
    orders.set(id, before + segmentOf(startNs, id));
    parents.set(id, ancestors);
    const extra = run['extra'] as { readonly metadata: object; readonly otel?: object };
    return {
      ...NOTHING,
      id,
      trace_id: traceIdOf(traceId),
      parent_run_id: above ?? null,
      parent_run_ids: ancestors,
      dotted_order: orders.get(id),
      start_time: timeOf(startNs),
      end_time: timeOf(endNs),
      ...run,
      ...sumsOf(span, spans),
      extra: {
        ...extra,
        metadata: { ...WORKLOAD.resource, ...extra.metadata },
        otel: { scope, ...extra.otel },
      },
    };
  });
}

const EXPECTED = WORKLOAD.traces.flatMap(runsOf);

/** Those fields of a run that are expected of it. */
function fieldsOf(run: Run, expected: Run): Run {
  return Object.fromEntries(Object.keys(expected).map((name) => [name, run[name]]));
}

async function readBack(tenant: TestTenant): Promise<readonly Run[]> {
  const [project] = (await tenant.call('GET', `/sessions?name=${PROJECT}`)).json as readonly { id: string }[];
  const body = { session: [project?.id], limit: 100 };
  return (await tenant.call('POST', '/runs/query', body)).json.runs as readonly Run[];
}

describe('an exporter of OpenTelemetry', () => {
  const { api } = testApi();

  /** Sends the workload into a workspace of its own, past a server that notes how. */
  async function exported(send: (address: Address) => Promise<Sent>) {
    const tenant = await api.workspace();
    const requests = new ObservedRequests(api.url);
    const url = await requests.start();
    try {
      const sent = await send({ url, key: tenant.key });
      return { tenant, sent, requests: requests.seen };
    } finally {
      await requests.stop();
    }
  }

  async function checkRoundTrip(send: (address: Address) => Promise<Sent>, contentType: string) {
    const { tenant, sent, requests } = await exported(send);
    const spans = EXPECTED.length + 2;
    expect(requests.length).toBeGreaterThanOrEqual(Math.ceil(spans / 3));
    for (const request of requests)
      expect(request).toMatchObject({ encoding: 'gzip', type: contentType, status: 200 });
    expect(sent.batches.map(({ result }) => result)).toEqual(requests.map(() => 'SUCCESS'));
    expect(sent.batches.reduce((sum, batch) => sum + batch.spans, 0)).toBe(spans);

    const listed = new Map((await readBack(tenant)).map((run) => [run['id'], run]));
    expect([...listed.keys()].sort()).toEqual([...EXPECTED.map((run) => run['id']), stored].sort());
    for (const expected of EXPECTED) {
      expect(fieldsOf(listed.get(expected['id']) ?? {}, expected)).toEqual(expected);
      const one = (await tenant.call('GET', `/runs/${String(expected['id'])}`)).json as Run;
      expect(fieldsOf(one, expected)).toEqual(expected);
    }
    const { recent } = (await tenant.call('GET', '/ingest-problems')).json as {
      readonly recent: readonly { readonly message: string }[];
    };
    expect(recent.map(({ message }) => message)).toEqual(['id: Input should be a valid UUID']);
    return sent;
  }
  const stored = runIdOf('0e'.repeat(8));

  it.each([
    ['JSON', JsonExporter, 'application/json'],
    ['protobuf', ProtobufExporter, 'application/x-protobuf'],
  ] as const)(
    'sends spans that read back equal as runs: JavaScript, %s',
    async (_, Exporter, contentType) => {
      const sent = await checkRoundTrip(
        ({ url, key }) =>
          sendWorkload(
            new Exporter({
              url: `${url}/otel/v1/traces`,
              headers: { 'x-api-key': key, 'Langsmith-Project': PROJECT },
              compression: 'gzip' as never,
              timeoutMillis: 60_000,
            }),
          ),
        contentType,
      );
      // understood: neither a failure nor sent again, and named in the log of the application
      expect(sent.logged).toEqual([expect.stringContaining('1 spans were refused')]);
      expect(sent.logged[0]).toContain('rejectedSpans');
    },
  );

  (python ? it : it.skip)(
    'sends spans that read back equal as runs: Python, protobuf',
    async () => {
      const sent = await checkRoundTrip(async ({ url, key }) => {
        const options = {
          timeout: 60_000,
          env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', OTEL_SDK_DISABLED: 'false' },
        };
        const { stdout } = await promisify(execFile)(python, [SCRIPT, url, key, PROJECT], options);
        return JSON.parse(stdout) as Sent;
      }, 'application/x-protobuf');
      // the exporter does not read partial success: what it refused stands in the ingest problems
      expect(sent.logged).toEqual([]);
    },
    90_000,
  );
});
