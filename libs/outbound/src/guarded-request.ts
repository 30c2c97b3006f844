import { constants } from 'node:crypto';
import type http from 'node:http';
import https from 'node:https';
import { Duplex } from 'node:stream';
import { proxyFor } from '#lib/config';
import { boundInterim, plainHttp } from '#lib/http';
import type { AddressGuard } from './address-guard.js';

type Options = http.ClientRequestArgs;
type Callback = (error: Error | null, stream: Duplex) => void;

const KEEP = { keepAlive: true, maxSockets: 16 };

/** An agent whose connections lead through the proxy, once the guard has seen where to. */
export function proxyAgent(
  proxy: string,
  isTls: boolean,
  guard: Pick<AddressGuard, 'judgeAhead'>,
): http.Agent {
  // Node's own way through proxies: a tunnel by CONNECT for https, the whole URL in the request for http
  const agent = isTls
    ? new https.Agent({ ...KEEP, proxyEnv: { https_proxy: proxy } })
    : new plainHttp.Agent({ ...KEEP, proxyEnv: { http_proxy: proxy } });
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options: Options, callback: Callback = () => undefined) => {
    guard.judgeAhead(options.host ?? '', (refusal) => {
      if (refusal) return callback(refusal, new Duplex());
      // a tunnel calls back by itself, once it is established
      if (isTls) connect(options, callback);
      else callback(null, connect(options, () => undefined) as Duplex);
    });
    return undefined;
  };
  return agent;
}

/** The host of a URL as guards and sockets take it: without the brackets of IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

export function portOf({ port, protocol }: URL): number {
  return Number(port || (protocol === 'https:' ? 443 : 80));
}

export interface GuardedOptions {
  readonly method: 'GET' | 'POST';
  /** Headers beside `host`. */
  readonly headers: Readonly<Record<string, string | number>>;
  /** Time limit from the first packet to the end, DNS and TLS included, milliseconds. */
  readonly timeoutMs: number;
  /** PEM, in place of the certificates that Node trusts. */
  readonly ca?: readonly string[];
}

/** Servers choose when a connection of TLS 1.2 shakes hands again, and each time costs this process as much as they like. */
const ONE_HANDSHAKE = constants.SSL_OP_NO_RENEGOTIATION;

/**
 * High-water mark of a paused answer: it keeps the data of one read of its connection, and reads no more.
 * Node would continue until it has 64 KB, and in pieces of a byte these are 65,536 objects that no limit
 * counts.
 */
const PAUSED_BYTES = 1;

/**
 * Begins one request to a URL from a user. The address that the guard has judged is the one that is dialled,
 * also through a proxy; redirects are not followed.
 * @param fail called with a TimeoutError, any other error, and when the connection has closed: nothing follows
 * @throws the refusal of the guard
 */
export function guardedRequest(
  url: URL,
  { method, headers, timeoutMs, ca }: GuardedOptions,
  guard: AddressGuard,
  fail: (error: Error) => void,
): http.ClientRequest {
  const isTls = url.protocol === 'https:';
  const [host, port] = [hostOf(url), portOf(url)];
  guard.checkHost(host);
  const proxy = proxyFor({ host, port, isTls });
  const agent = proxy === undefined ? undefined : proxyAgent(proxy, isTls, guard);
  const signal = AbortSignal.timeout(timeoutMs);
  const options: https.RequestOptions & { readonly highWaterMark: number } = {
    method,
    protocol: url.protocol,
    host,
    port,
    path: `${url.pathname}${url.search}`,
    signal,
    ...(agent ? { agent } : { agent: false, lookup: guard.lookup }),
    ...(ca === undefined ? {} : { ca: [...ca] }),
    secureOptions: ONE_HANDSHAKE,
    highWaterMark: PAUSED_BYTES,
    headers: { ...headers, host: url.host },
  };
  const request = (isTls ? https : plainHttp).request(options);
  boundInterim(request);
  request.on('error', (error) => fail(signal.aborted ? (signal.reason as Error) : error));
  request.on('close', () => {
    agent?.destroy();
    // an answer that Node drops has neither an answer nor an error
    fail(new Error('the connection was closed without an answer'));
  });
  return request;
}
