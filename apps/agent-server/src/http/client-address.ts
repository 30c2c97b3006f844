import { isIP } from 'node:net';
import type { IncomingMessage } from 'node:http';

/**
 * Address of the client of a request: that of the connection, or the last one of `X-Forwarded-For`, which the
 * trusted proxy in front has added. Clients write the addresses before it.
 */
export function clientAddressOf(
  {
    headers,
    socket,
  }: {
    readonly headers: IncomingMessage['headers'];
    readonly socket: { readonly remoteAddress?: string | undefined };
  },
  trustsForwarded: boolean,
): string | undefined {
  const { remoteAddress } = socket;
  // without an address the connection is closed already
  if (!trustsForwarded || remoteAddress === undefined) return remoteAddress;
  const last = [headers['x-forwarded-for'] ?? ''].flat().join(',').split(',').at(-1)?.trim() ?? '';
  return isIP(last) === 0 ? remoteAddress : last;
}
