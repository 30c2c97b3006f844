import { isIP } from 'node:net';
import { TLSSocket } from 'node:tls';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { withoutTrailingSlashes } from '#lib/url';

/**
 * The address of the client of a request: that of the connection, or the one that the trusted proxies in
 * front wrote into `X-Forwarded-For`. If a proxy passes on a word of its client that is not an address, the
 * proxy's address is used.
 */
export function clientAddress({
  ip,
  socket,
}: Pick<FastifyRequest, 'ip'> & { readonly socket: Pick<FastifyRequest['socket'], 'remoteAddress'> }):
  string | undefined {
  // without an address the connection is closed already
  return socket.remoteAddress !== undefined && isIP(ip) !== 0 ? ip : socket.remoteAddress;
}

/** Names and addresses with a port, and nothing that could end the host of a URL. */
const HOST = /^(?:[\w.-]{1,255}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i;

/** Hosts of this machine, and of Services, whose names cannot be owned outside of a cluster. */
const OWN_HOST =
  /^(?:(?:[\w-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\]|[\w-]+\.[\w-]+\.svc(?:\.cluster\.local)?)$/i;

/**
 * The parts of a request that say where it was sent; `X-Forwarded-Proto` and `-Host` if a trusted proxy wrote
 * them.
 */
type Asked = Pick<FastifyRequest, 'protocol' | 'host' | 'ips' | 'socket'>;

/**
 * Scheme and host that a caller used; '' for those that can be neither. `Host` is chosen by the caller: it
 * counts if a trusted proxy passed the request on, and if it names this machine, the address that was called,
 * or a name of the certificate. In any other case a link in an answer, which a cache may keep for others,
 * would lead to a host of one caller's choice.
 */
export function askedOrigin({ protocol, host, ips, socket }: Asked): string {
  if ((protocol !== 'http' && protocol !== 'https') || !HOST.test(host)) return '';
  const isForwarded = (ips?.length ?? 0) > 1;
  return isForwarded || isOurs(host.replace(/:\d+$/, ''), socket) ? `${protocol}://${host}` : '';
}

function isOurs(name: string, socket: Asked['socket']): boolean {
  const address = name.replace(/^\[|\]$/g, '');
  if (OWN_HOST.test(name) || address === socket.localAddress?.replace(/^::ffff:/, '')) return true;
  const certificate = socket instanceof TLSSocket ? socket.getX509Certificate() : undefined;
  const found = isIP(address) ? certificate?.checkIP(address) : certificate?.checkHost(address);
  return found !== undefined;
}

/** Parameter of a route: `askedOrigin` of its request. */
export const AskedOrigin = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  askedOrigin(context.switchToHttp().getRequest<FastifyRequest>()),
);

/**
 * The beginning of addresses that lead to the api.
 * @param publicUrl of the settings, if they have one
 * @param asked origin that the caller used, from `askedOrigin`; '' leaves paths, which clients complete
 */
export function originOf(publicUrl: string | undefined, asked: string): string {
  return publicUrl === undefined ? asked : withoutTrailingSlashes(publicUrl);
}
