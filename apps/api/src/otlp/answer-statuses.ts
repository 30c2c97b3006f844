import type { FastifyInstance, FastifyRequest } from 'fastify';
import { writeStatus } from '#lib/otlp';
import { type BodyRoute, unsupported } from '../wire/body-parsers.js';
import { shapeRefusals } from '../wire/shape-refusals.js';

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

/**
 * Puts refusals of OTLP routes into the `google.rpc.Status` that exporters read: in protobuf where the request was that, and
 * in JSON beside the `detail` of every other route.
 */
export function answerStatuses(server: FastifyInstance): void {
  const isOtlp = ({ routeOptions }: FastifyRequest): boolean =>
    ((routeOptions.config ?? {}) as BodyRoute).isOtlp ?? false;
  shapeRefusals(server, isOtlp, ({ status, detail, text: message }, request, reply) => {
    const code = CODES[status] ?? INTERNAL;
    if (!request.headers['content-type']?.trim().toLowerCase().startsWith(PROTOBUF))
      return { code, message, detail };
    void reply.header('content-type', PROTOBUF);
    return writeStatus(code, message);
  });
}
