import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  context,
  diag,
  type DiagLogger,
  DiagLogLevel,
  type HrTime,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import type { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace';

type Values = Readonly<Record<string, unknown>>;
type Attributes = Parameters<Span['setAttributes']>[0];

interface RecordedEvent {
  readonly name: string;
  readonly atNs: number;
  readonly attributes: Attributes;
}

interface RecordedLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes: Attributes;
}

/** A span as an instrumentation made it, and the run that it must become. */
export interface RecordedSpan {
  readonly id: string;
  readonly parent?: string;
  readonly kind?: 'client';
  readonly name: string;
  /** After `BASE_SECONDS`. */
  readonly startNs: number;
  readonly endNs: number;
  readonly attributes: Attributes;
  readonly events?: readonly RecordedEvent[];
  readonly links?: readonly RecordedLink[];
  readonly status?: { readonly code: 'ok' | 'error'; readonly message?: string };
  readonly run: Values;
}

export interface RecordedTrace {
  readonly convention: string;
  readonly traceId: string;
  readonly scope: { readonly name: string; readonly version: string };
  /** Parents before their children. */
  readonly spans: readonly RecordedSpan[];
}

/** What applications sent, and what must be read back; `send-workload.py` sends the same. */
export const WORKLOAD = JSON.parse(readFileSync(join(import.meta.dirname, 'workload.json'), 'utf8')) as {
  readonly resource: Readonly<Record<string, string>>;
  readonly traces: readonly RecordedTrace[];
};

/** 2025-11-20T12:00:00Z */
export const BASE_SECONDS = 1_763_640_000;
const SPANS_OF_BATCH = 3;
const NS_OF_SECOND = 1_000_000_000;

function at(ns: number): HrTime {
  return [BASE_SECONDS + Math.floor(ns / NS_OF_SECOND), ns % NS_OF_SECOND];
}

const CODES = { ok: SpanStatusCode.OK, error: SpanStatusCode.ERROR };

/** The next span gets the ids that it was recorded with. */
class RecordedIds {
  traceId = '';
  spanId = '';
  readonly generateTraceId = (): string => this.traceId;
  readonly generateSpanId = (): string => this.spanId;
}

function send(tracer: Tracer, ids: RecordedIds, spans: readonly RecordedSpan[]): void {
  const begun = new Map<string, Span>();
  for (const span of spans) {
    ids.spanId = span.id;
    const parent = begun.get(span.parent ?? '');
    const links = (span.links ?? []).map(({ traceId, spanId, attributes }) => ({
      context: { traceId, spanId, traceFlags: 0 },
      attributes,
    }));
    const options = {
      startTime: at(span.startNs),
      attributes: span.attributes,
      links,
      root: parent === undefined,
      kind: span.kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
    };
    const below = parent ? trace.setSpan(context.active(), parent) : context.active();
    begun.set(span.id, tracer.startSpan(span.name, options, below));
  }
  // children end before their parents
  for (const span of spans.toReversed()) {
    const one = begun.get(span.id);
    for (const event of span.events ?? []) one?.addEvent(event.name, event.attributes, at(event.atNs));
    if (span.status) one?.setStatus({ ...span.status, code: CODES[span.status.code] });
    one?.end(at(span.endNs));
  }
}

/** What became of the batches, and what the exporter logged. */
export interface Sent {
  readonly batches: readonly { readonly spans: number; readonly result: string }[];
  readonly logged: readonly string[];
}

/** Sends the workload, a few spans at a time, and at last a span that is refused beside one that is stored. */
export async function sendWorkload(exporter: JsonExporter): Promise<Sent> {
  const batches: { spans: number; result: string }[] = [];
  const logged: string[] = [];
  const note = (message: string, ...more: readonly unknown[]): void =>
    void logged.push([message, ...more.map((one) => JSON.stringify(one))].join(' '));
  const quiet = (): void => undefined;
  const logger: DiagLogger = { error: note, warn: note, info: quiet, debug: quiet, verbose: quiet };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const noting = {
    export(spans: ReadableSpan[], done: (result: { code: number }) => void): void {
      exporter.export(spans, (result) => {
        batches.push({ spans: spans.length, result: result.code === 0 ? 'SUCCESS' : 'FAILURE' });
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  };
  const ids = new RecordedIds();
  const provider = new TracerProvider({
    resource: resourceFromAttributes(WORKLOAD.resource),
    idGenerator: ids,
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: noting,
        maxExportBatchSize: SPANS_OF_BATCH,
        exportTimeoutMillis: 60_000,
      }),
    ],
  });
  try {
    for (const { traceId, scope, spans } of WORKLOAD.traces) {
      ids.traceId = traceId;
      send(provider.getTracer(scope.name, scope.version), ids, spans);
    }
    const tracer = provider.getTracer('refused');
    const refused = { 'langsmith.span.id': 'x' };
    for (const [name, attributes] of [
      ['refused', refused],
      ['stored', {}],
    ] as const) {
      ids.traceId = '0d'.repeat(16);
      ids.spanId = (name === 'refused' ? '0d' : '0e').repeat(8);
      tracer.startSpan(name, { startTime: at(0), attributes, root: true }).end(at(0));
    }
    await provider.forceFlush({ timeoutMillis: 60_000 });
    await provider.shutdown();
  } finally {
    diag.disable();
  }
  return { batches, logged };
}
