import type { AddressInfo } from 'node:net';
import { createServer } from 'node:http';

/** A span as it arrived. */
export interface ReceivedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

/** A collector's end of OTLP over HTTP. */
export interface OtlpReceiver {
  /** Value for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly endpoint: string;
  readonly spans: readonly ReceivedSpan[];
  /** Headers of the newest request. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  stop(): Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Body {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly attributes?: readonly Attribute[];
        readonly status?: { readonly code?: number };
      }[];
    }[];
  }[];
}

function plain(attributes: readonly Attribute[] = []): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

/** Listens on loopback and keeps every span that is sent to `/v1/traces` as JSON. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  let headers: OtlpReceiver['headers'] = {};
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      headers = request.headers;
      if (request.url !== '/v1/traces' || request.headers['content-type'] !== 'application/json')
        return void response.writeHead(400).end();
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Body;
      for (const { resource, scopeSpans } of body.resourceSpans)
        for (const span of scopeSpans.flatMap((scope) => scope.spans))
          spans.push({
            service: String(plain(resource.attributes)['service.name']),
            name: span.name,
            traceId: span.traceId,
            spanId: span.spanId,
            parentSpanId: span.parentSpanId === '' ? undefined : span.parentSpanId,
            attributes: plain(span.attributes),
            isError: span.status?.code === 2,
          });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    get headers() {
      return headers;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
