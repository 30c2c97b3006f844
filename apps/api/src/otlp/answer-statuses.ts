import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isJsonObject, parseJson } from '#lib/json';
import { writeStatus } from '#lib/otlp';
import { type BodyRoute, unsupported } from '../wire/body-parsers.js';

/** Content type of OTLP in protobuf. */
export const PROTOBUF = 'application/x-protobuf';

export type SpanEncoding = 'json' | 'protobuf';

/** Encoding of the spans of a request, and of its answer. @throws an error of status 415 */
export function spanEncodingOf(contentType: string | undefined): SpanEncoding {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (type === PROTOBUF) return 'protobuf';
  if (type === 'application/json') return 'json';
  throw unsupported(`spans come as ${PROTOBUF} or application/json`);
}

/** Codes of google.rpc by the statuses of HTTP. */
const CODES: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  413: 3,
  415: 3,
  422: 3,
  429: 8,
  503: 14,
  507: 8,
};
const INTERNAL = 13;

function detailOf(payload: unknown): unknown {
  try {
    const body: unknown = parseJson(String(payload));
    return isJsonObject(body) ? body['detail'] : undefined;
  } catch {
    return undefined;
  }
}

function textOf(detail: unknown): string {
  if (typeof detail === 'string') return detail;
  if (!Array.isArray(detail)) return 'the request failed';
  return (detail as readonly { readonly loc: readonly unknown[]; readonly msg: string }[])
    .map(({ loc, msg }) => `${loc.join('.')}: ${msg}`)
    .join('; ');
}

/**
 * Puts refusals of OTLP routes, those before a route is reached included, into the `google.rpc.Status` that exporters
 * read: in protobuf where the request was that, and in JSON beside the `detail` of every other route.
 */
export function answerStatuses(server: FastifyInstance): void {
  server.addHook('onSend', async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    const { isOtlp = false } = (request.routeOptions.config ?? {}) as BodyRoute;
    if (!isOtlp || reply.statusCode < 400) return payload;
    const detail = detailOf(payload);
    const [code, message] = [CODES[reply.statusCode] ?? INTERNAL, textOf(detail)];
    void reply.removeHeader('content-length');
    if (!request.headers['content-type']?.trim().toLowerCase().startsWith(PROTOBUF))
      return JSON.stringify({ code, message, detail });
    void reply.header('content-type', PROTOBUF);
    return writeStatus(code, message);
  });
}
