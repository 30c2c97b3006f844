import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Clock } from '#lib/time';
import {
  answerDetail,
  boundInterim,
  passUpgrade,
  plainHttp,
  protectAnswer,
  setsPageCookie,
  whenExchangeEnds,
  withoutPageCookie,
} from '#lib/http';
import { IDLE_HEADER } from '#lib/lifecycle';
import { type Endpoint, type EndpointChoice, MAX_WAITING } from './endpoint-choice.js';
import type { SleepGate } from './sleep-gate.js';

/** Time for which a request waits for a ready pod before it is answered with 503. */
const PATIENCE_MS = 5_000;
const MAX_PODS_TRIED = 4;
/** Belong to one hop, not to the message (RFC 9110 §7.6.1), or announce trailers, which are not passed on. */
const HOP_HEADERS = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  // the header belongs to an offer of HTTP/2, which is not accepted
  'http2-settings',
];
/**
 * Headers that are not forwarded. Its listener asks a pod at the pod's own address: an idle request through a
 * Service is not from the listener.
 */
const KEPT_BACK = new Set([...HOP_HEADERS, IDLE_HEADER]);

/** Headers that a server in front writes in place of what clients wrote, by names in lower case; undefined: none. */
export type WrittenHeaders = Readonly<Record<string, string | undefined>>;

function forwardedHeaders(headers: readonly string[], written: WrittenHeaders = {}): string[] {
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? '';
    const key = name.toLowerCase();
    if (KEPT_BACK.has(key) || Object.hasOwn(written, key)) continue;
    const value = headers[at + 1] ?? '';
    // cookies know no port: a browser that reads pages at this host sends theirs to every server of it
    const passed = key === 'cookie' ? withoutPageCookie(value) : value;
    if (passed !== undefined && !setsPageCookie(key, value)) kept.push(name, passed);
  }
  return [...kept, ...linesOf(written)];
}

function linesOf(written: WrittenHeaders): readonly string[] {
  return Object.entries(written).flatMap(([name, value]) => (value === undefined ? [] : [name, value]));
}

/** Backend of a Service to which requests are forwarded. */
export interface ServiceBehind {
  readonly endpoints: EndpointChoice;
  readonly gate: SleepGate;
  readonly serviceName: string;
  readonly clock: Clock;
  /** Rewritten headers; without them headers are forwarded unchanged. */
  readonly written?: WrittenHeaders;
}

/**
 * A connection to a pod, or undefined when none answers. Connecting first means that nothing of the request is
 * sent before the pod accepts, so trying the next pod repeats nothing.
 */
function connected({ host = '127.0.0.1', port, lookup }: Endpoint): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, noDelay: true, ...(lookup ? { lookup } : {}) });
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      resolve(socket);
    });
    socket.once('error', () => resolve(undefined));
  });
}

async function connectToPod(endpoints: EndpointChoice, signal: AbortSignal): Promise<Socket | undefined> {
  const tried = new Set<string>();
  while (tried.size < MAX_PODS_TRIED && !signal.aborted) {
    const endpoint = await endpoints.choose(tried, PATIENCE_MS, signal);
    if (!endpoint) return undefined;
    const socket = await connected(endpoint);
    // the client left meanwhile: a connection opened now would never be closed
    if (socket && signal.aborted) socket.destroy();
    else if (socket) return socket;
    tried.add(endpoint.pod);
  }
  return undefined;
}

/**
 * A pod runs other people's code, and what is read of an answer is more than what may be written: the words of the status
 * are this server's own, and the rest is refused.
 * @throws Error for an answer that cannot be passed on
 */
function answer(from: IncomingMessage, to: ServerResponse): void {
  const { statusCode = 0 } = from;
  if (statusCode < 200) throw new Error(`${statusCode} is no status of an answer`);
  to.writeHead(statusCode, forwardedHeaders(from.rawHeaders));
  // server-sent events must leave at once, even while there is no body yet
  to.flushHeaders();
  from.pipe(to);
  from.once('error', () => to.destroy());
}

function passAnswer(from: IncomingMessage, to: ServerResponse, serviceName: string): void {
  try {
    answer(from, to);
  } catch {
    from.destroy();
    answerDetail(to, 503, `the pod of Service ${serviceName} gave an answer that is no HTTP`);
  }
}

/** True for requests that monitors repeat without a key. */
function isProbe({ method, url }: IncomingMessage): boolean {
  return method === 'GET' && url === '/ok';
}

/** Answers a probe of a deployment that sleeps, which is as it should be and must not be woken for this. */
function answerProbe(response: ServerResponse): void {
  const body = JSON.stringify({ ok: true, asleep: true });
  protectAnswer(response);
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

/** Paths of agents whose clients read errors as JSON-RPC, below any prefix. */
const RPC_PATH = /\/(a2a\/[^/?]+|mcp)(\?|$)/;

/** A request that no pod answers. Its id is in a body that was passed on unread. */
function refuse(
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
  detail: string,
  { status = 503, code }: { readonly status?: number; readonly code?: string | undefined } = {},
): void {
  const isRpc = method === 'POST' && RPC_PATH.test(url);
  const more = isRpc ? { jsonrpc: '2.0', id: null, error: { code: -32603, message: detail } } : {};
  answerDetail(response, status, detail, code, more);
}

function noPod(serviceName: string, { isCrowded }: EndpointChoice): string {
  const crowd = isCrowded ? ` and ${MAX_WAITING} requests that wait for one` : '';
  return `Service ${serviceName} has no ready pod${crowd}; retry in a moment`;
}

/**
 * Forwards one request to a ready pod behind the Service: headers as they came, bodies streamed both ways. One connection
 * a request, so that none is found closed when it is used again.
 */
export async function forwardHttp(
  incoming: IncomingMessage,
  response: ServerResponse,
  { endpoints, gate, serviceName, written }: ServiceBehind,
): Promise<void> {
  if (isProbe(incoming) && gate.isShut) return void answerProbe(response);
  const gone = new AbortController();
  whenExchangeEnds(incoming, response, () => gone.abort());
  const refusal = await gate.pass(incoming, gone.signal);
  if (refusal) return refuse(incoming, response, `Service ${serviceName}: ${refusal.message}`, refusal);
  const socket = await connectToPod(endpoints, gone.signal);
  if (!socket) return refuse(incoming, response, noPod(serviceName, endpoints));
  gone.signal.addEventListener('abort', () => socket.destroy());
  const outgoing: ClientRequest = plainHttp.request({
    createConnection: () => socket,
    method: incoming.method,
    path: incoming.url,
    headers: [...forwardedHeaders(incoming.rawHeaders, written), 'connection', 'close'],
  });
  boundInterim(outgoing);
  gone.signal.addEventListener('abort', () => outgoing.destroy());
  outgoing.once('response', (from) => passAnswer(from, response, serviceName));
  // without a listener Node ends the connection and says nothing
  outgoing.once('upgrade', (_from, switched) => {
    switched.destroy();
    const detail = `the pod of Service ${serviceName} changed the protocol of a request that did not ask for it`;
    answerDetail(response, 502, detail);
  });
  outgoing.once('error', () =>
    refuse(incoming, response, `the pod of Service ${serviceName} closed the connection before it answered`),
  );
  incoming.once('error', () => outgoing.destroy());
  incoming.pipe(outgoing);
}

/**
 * Leads a request that may become something else (WebSocket) to a ready pod: the pod decides whether it does.
 * @param response of `upgradeAnswer`
 * @param head bytes that the client sent ahead
 */
export async function forwardUpgrade(
  incoming: IncomingMessage,
  response: ServerResponse,
  head: Buffer,
  { endpoints, gate, serviceName, written, clock }: ServiceBehind,
): Promise<void> {
  const gone = new AbortController();
  whenExchangeEnds(incoming, response, () => gone.abort());
  const refusal = await gate.pass(incoming, gone.signal);
  if (refusal)
    return answerDetail(response, refusal.status, `Service ${serviceName}: ${refusal.message}`, refusal.code);
  const socket = await connectToPod(endpoints, gone.signal);
  if (!socket) return answerDetail(response, 503, noPod(serviceName, endpoints));
  gone.signal.addEventListener('abort', () => socket.destroy());
  const protocol = incoming.headers.upgrade ?? '';
  const outgoing = plainHttp.request({
    createConnection: () => socket,
    method: incoming.method,
    path: incoming.url,
    headers: [
      ...forwardedHeaders(incoming.rawHeaders, written),
      'connection',
      'upgrade',
      'upgrade',
      protocol,
    ],
  });
  passUpgrade(outgoing, {
    response,
    head,
    clock,
    onAnswer: (from) => passAnswer(from, response, serviceName),
    onNone: (isLate) => {
      const what = isLate
        ? 'gave no answer to an upgrade in time'
        : 'closed the connection before it answered';
      answerDetail(response, isLate ? 504 : 503, `the pod of Service ${serviceName} ${what}`);
    },
  });
}
