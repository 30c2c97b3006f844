import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { KubeConnection } from '../connection/kube-connection.js';

// not by `import`: that reads every export of it, and one of them loads Node's WebSocket client, 6 MB and 60 ms
const plain = process.getBuiltinModule('node:http');
const secure = process.getBuiltinModule('node:https');

const CONNECT_MS = 10_000;
const IDLE_MS = 30_000;
/** The kernel gives a dead peer up about 10 probes of 1 s after this. */
const KEEP_ALIVE_MS = 15_000;
const MAX_REQUEST_CONNECTIONS = 32;

/** Request to send. */
export interface Outgoing {
  readonly method: string;
  /** Path with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Longest silence in milliseconds until the head of the answer, and after it; 0 for no limit. */
  readonly headTimeoutMs: number;
  readonly bodyTimeoutMs: number;
}

/** Connections that an exchange takes: those of streams are held for minutes. */
export type Lane = 'requests' | 'streams';

/** Codes like those of a socket, since callers decide by them. */
class ExchangeError extends Error {
  constructor(
    readonly code: 'ETIMEDOUT' | 'ERR_CLIENT_CLOSED',
    message: string,
  ) {
    super(message);
    this.name = 'ExchangeError';
  }
}

/**
 * Keep-alive connections to one API server, by Node's own client: its parser is part of Node, while undici's is 7 MB of
 * modules and WebAssembly in each program, whose optimization left another 7 MB behind.
 */
export class HttpExchange {
  readonly #origin: Pick<RequestOptions, 'protocol' | 'hostname' | 'port'>;
  readonly #isTls: boolean;
  readonly #agents: Readonly<Record<Lane, Agent>>;
  readonly #open = new Set<ClientRequest>();
  #isClosed = false;

  constructor(connection: KubeConnection) {
    const url = new URL(connection.server);
    this.#isTls = url.protocol === 'https:';
    this.#origin = { protocol: url.protocol, hostname: url.hostname.replace(/^\[|\]$/g, ''), port: url.port };
    const open = this.#isTls ? secureAgents(connection) : plainAgent;
    this.#agents = { requests: open(MAX_REQUEST_CONNECTIONS), streams: open(Infinity) };
  }

  /** The head of the answer; its body is for the caller to read or to destroy. Throws what the socket said. */
  send(
    lane: Lane,
    { body, signal, headTimeoutMs, bodyTimeoutMs, ...outgoing }: Outgoing,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw new ExchangeError('ERR_CLIENT_CLOSED', 'the client was closed');
      let answer: IncomingMessage | undefined;
      const request = (this.#isTls ? secure : plain).request({
        ...this.#origin,
        ...outgoing,
        agent: this.#agents[lane],
        // until the connection is established
        timeout: CONNECT_MS,
        ...(signal ? { signal } : {}),
        ...(body === undefined
          ? {}
          : { headers: { ...outgoing.headers, 'content-length': Buffer.byteLength(body) } }),
      });
      this.#open.add(request);
      request.setTimeout(headTimeoutMs);
      request.on('timeout', () => {
        const error = new ExchangeError('ETIMEDOUT', 'the connection was silent for too long');
        (answer ?? request).destroy(error);
      });
      request.once('socket', (socket) => {
        if (socket.connecting) socket.setKeepAlive(true, KEEP_ALIVE_MS);
      });
      request.once('close', () => this.#open.delete(request));
      // listens on: an error after the head reaches the reader of the body as well
      request.on('error', reject);
      request.once('response', (response) => {
        answer = response;
        request.setTimeout(bodyTimeoutMs);
        resolve(response);
      });
      request.end(body);
    });
  }

  /** Closes idle connections and breaks busy ones. */
  close(): void {
    this.#isClosed = true;
    for (const request of this.#open)
      request.destroy(new ExchangeError('ERR_CLIENT_CLOSED', 'the client was closed'));
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }
}

type OpenAgent = (maxSockets: number) => Agent;

const KEPT = { keepAlive: true, timeout: IDLE_MS };

const plainAgent: OpenAgent = (maxSockets) => new plain.Agent({ ...KEPT, maxSockets });

function secureAgents(connection: KubeConnection): OpenAgent {
  const secureContext = secureContextOf(connection);
  return (maxSockets) =>
    new secure.Agent({
      ...KEPT,
      maxSockets,
      secureContext,
      ...(connection.tlsServerName === undefined ? {} : { servername: connection.tlsServerName }),
      ...(connection.insecureSkipTlsVerify ? { rejectUnauthorized: false } : {}),
    });
}

/** One for all connections: each of its own would parse CA and key again, and keep them. */
function secureContextOf({ ca, clientCertificate, clientKey }: KubeConnection): SecureContext {
  return createSecureContext({
    ...(ca === undefined ? {} : { ca }),
    ...(clientCertificate === undefined ? {} : { cert: clientCertificate }),
    ...(clientKey === undefined ? {} : { key: clientKey }),
  });
}
