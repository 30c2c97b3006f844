import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/**
 * The address of who sent a request: that of the connection, or what the trusted proxies in front of it wrote into
 * `X-Forwarded-For`. A proxy that passes on a word of its client's which is no address stands for its client.
 */
export function clientAddress({
  ip,
  socket,
}: Pick<FastifyRequest, 'ip'> & { readonly socket: Pick<FastifyRequest['socket'], 'remoteAddress'> }):
  string | undefined {
  // without an address the connection is closed already
  return socket.remoteAddress !== undefined && isIP(ip) !== 0 ? ip : socket.remoteAddress;
}
