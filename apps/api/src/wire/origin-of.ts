import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { withoutTrailingSlashes } from '#lib/url';

/** Names and addresses with a port, and nothing that could end the host of a URL. */
const HOST = /^(?:[\w.-]{1,255}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i;

/** What of a request says where it was sent; `X-Forwarded-Proto` and `-Host` where a trusted proxy wrote them. */
type Asked = Pick<FastifyRequest, 'protocol' | 'host'>;

/** Scheme and host that a caller asked; '' for what can be neither. */
export function askedOrigin({ protocol, host }: Asked): string {
  const isFine = (protocol === 'http' || protocol === 'https') && HOST.test(host);
  return isFine ? `${protocol}://${host}` : '';
}

/** Parameter of a route: `askedOrigin` of its request. */
export const AskedOrigin = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  askedOrigin(context.switchToHttp().getRequest<FastifyRequest>()),
);

/**
 * The beginning of addresses that lead to the api.
 * @param publicUrl of the settings, if they have one
 * @param asked what the caller asked, as of `askedOrigin`; '' leaves paths, which clients complete
 */
export function originOf(publicUrl: string | undefined, asked: string): string {
  return publicUrl === undefined ? asked : withoutTrailingSlashes(publicUrl);
}
