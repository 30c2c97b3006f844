import type { AgentOptions } from 'node:http';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { proxyFor } from '#lib/config';
import { errorText } from '#lib/errors';
import type { SpanPlace } from './span-place.js';
import type { TracingSettings } from './telemetry-settings.js';
import type { Tracing } from './tracing.js';

/** Spans are sent this often; a program that ends sends the rest at once. */
const SEND_EVERY_MS = 2_000;

/**
 * Spans to an OpenTelemetry collector, OTLP over HTTP as JSON. Loaded only when an endpoint is configured: it costs some
 * 10 MB. Nothing is registered globally, so that an agent's own OpenTelemetry is left alone.
 */
export function openTracing(settings: TracingSettings, resource: Readonly<Record<string, string>>): Tracing {
  const exporter = new OTLPTraceExporter({
    url: settings.url,
    headers: { ...settings.headers },
    timeoutMillis: settings.timeoutMs,
    httpAgentOptions: agentOptions(settings.url),
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ ...settings.resource, ...resource }),
    sampler: samplerOf(settings),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: SEND_EVERY_MS })],
  });
  const tracer = provider.getTracer('agentplane');
  return {
    begin(name, attributes, parent) {
      const context = parent ? trace.setSpanContext(ROOT_CONTEXT, contextOf(parent)) : ROOT_CONTEXT;
      const span = tracer.startSpan(name, { attributes, kind: SpanKind.INTERNAL }, context);
      const { traceId, spanId, traceFlags } = span.spanContext();
      return {
        place: { traceId, spanId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0 },
        set: (more) => void span.setAttributes(more),
        end(failure) {
          if (failure !== undefined)
            span.setStatus({ code: SpanStatusCode.ERROR, message: errorText(failure) });
          span.end();
        },
      };
    },
    stop: () => provider.shutdown(),
  };
}

function contextOf({ traceId, spanId, isSampled }: SpanPlace) {
  return {
    traceId,
    spanId,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
  };
}

function samplerOf({ sampler, samplerRatio }: TracingSettings): Sampler {
  switch (sampler) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(samplerRatio);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(samplerRatio) });
    default:
      return sampler satisfies never;
  }
}

function agentOptions(text: string): AgentOptions {
  const url = new URL(text);
  const isTls = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const proxy = proxyFor({ host, port: Number(url.port) || (isTls ? 443 : 80), isTls });
  if (proxy === undefined) return { keepAlive: true };
  return { keepAlive: true, proxyEnv: isTls ? { https_proxy: proxy } : { http_proxy: proxy } };
}
