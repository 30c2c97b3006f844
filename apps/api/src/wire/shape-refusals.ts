import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isJsonObject, parseJson } from '#lib/json';

/** A refusal that is about to be sent, those before a route is reached included. */
export interface Refusal {
  readonly status: number;
  /** The member that every route answers. */
  readonly detail: unknown;
  /** The same for people. */
  readonly text: string;
}

/**
 * Gives refusals of some routes the body that clients of their protocol read.
 * @param shape sets the content type where it is another one
 */
export function shapeRefusals(
  server: FastifyInstance,
  isShaped: (request: FastifyRequest) => boolean,
  shape: (refusal: Refusal, request: FastifyRequest, reply: FastifyReply) => object | Buffer,
): void {
  server.addHook('onSend', async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
    if (reply.statusCode < 400 || !isShaped(request)) return payload;
    const detail = detailOf(payload);
    void reply.removeHeader('content-length');
    const shaped = shape({ status: reply.statusCode, detail, text: textOf(detail) }, request, reply);
    return Buffer.isBuffer(shaped) ? shaped : JSON.stringify(shaped);
  });
}

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
