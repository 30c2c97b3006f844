import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { WrittenHeaders } from '#lib/service-front';

type Asked = Pick<IncomingMessage, 'headers'> & {
  readonly socket: { readonly remoteAddress?: string | undefined; readonly encrypted?: boolean };
};

/**
 * The `X-Forwarded-…` headers that tell agents about their clients: facts that the platform saw, in place of
 * those that clients wrote. Behind trusted proxies, the client is the first address from the right that is
 * not a proxy's.
 */
export class ClientWords {
  readonly #trusted: BlockList | undefined;

  /** @param proxies addresses and networks, as of AGENTPLANE_TRUSTED_PROXIES */
  constructor(proxies: readonly string[] | undefined) {
    this.#trusted = proxies && listOf(proxies);
  }

  headersOf({ headers, socket }: Asked): WrittenHeaders {
    const peer = plainAddress(socket.remoteAddress ?? '');
    const own = {
      'x-forwarded-for': peer === '' ? undefined : peer,
      'x-forwarded-proto': socket.encrypted ? 'https' : 'http',
      'x-forwarded-host': headers.host,
      'x-forwarded-prefix': undefined,
      forwarded: undefined,
    };
    if (!this.#isTrusted(peer)) return own;
    const word = (name: keyof typeof own): string | undefined => textOf(headers[name]) ?? own[name];
    return {
      ...own,
      'x-forwarded-for': this.#clientOf(headers, peer),
      'x-forwarded-proto': word('x-forwarded-proto'),
      'x-forwarded-host': word('x-forwarded-host'),
      'x-forwarded-prefix': word('x-forwarded-prefix'),
    };
  }

  #clientOf(headers: IncomingMessage['headers'], peer: string): string {
    let client = peer;
    for (const word of (textOf(headers['x-forwarded-for']) ?? '').split(',').reverse()) {
      const address = plainAddress(word.trim());
      if (isIP(address) === 0) break;
      client = address;
      if (!this.#isTrusted(address)) break;
    }
    return client;
  }

  #isTrusted(address: string): boolean {
    const family = isIP(address);
    return family !== 0 && this.#trusted?.check(address, family === 6 ? 'ipv6' : 'ipv4') === true;
  }
}

function listOf(proxies: readonly string[]): BlockList {
  const list = new BlockList();
  for (const proxy of proxies) {
    const [address = '', bits] = proxy.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** An address of IPv4 may come mapped into one of IPv6. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}
