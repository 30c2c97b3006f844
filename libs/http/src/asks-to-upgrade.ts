import type { IncomingMessage } from 'node:http';

/**
 * True when a request asks to change the protocol (`shouldUpgradeCallback`). Others are served as if they did
 * not ask: a body never arrives after an upgrade, and clients that send one along (Java's) offer HTTP/2
 * (`h2c`) with any request.
 */
export function asksToUpgrade({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  const hasBody =
    headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0').trim() !== '0';
  const offered = (headers.upgrade ?? '').split(',').map((one) => one.trim().toLowerCase());
  return method === 'GET' && !hasBody && offered.some((protocol) => protocol !== '' && protocol !== 'h2c');
}
