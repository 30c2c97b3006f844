import { isIP } from 'node:net';
import type { IncomingMessage } from 'node:http';

/**
 * The address of who sent a request: that of the connection, or what the trusted proxy in front has added to
 * `X-Forwarded-For`, which is its last word. What stands before that is the word of clients.
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
