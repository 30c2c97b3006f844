import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

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
