import { createHash, timingSafeEqual } from 'node:crypto';
import {
  Agent,
  createServer,
  type IncomingMessage,
  request as ask,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { visibleText } from '#lib/command-line';
import { asksToUpgrade, passUpgrade, serverOptions, upgradeAnswer } from '#lib/http';
import type { Clock } from '#lib/time';

/** Destination of a request: a server, or none, and the reason. */
export type Destination =
  | { readonly kind: 'server'; readonly port: number }
  | { readonly kind: 'none'; readonly body: Readonly<Record<string, string>> };

export interface FrontDoorOptions {
  readonly host: string;
  /** Required of every caller; undefined where only this machine can call. */
  readonly key: string | undefined;
  /** Pages that may call without a key beside those of this machine. */
  readonly origins: () => readonly string[];
  /** Waits while the agent is being loaded. */
  readonly destination: () => Promise<Destination>;
  /** Learns of each answer. */
  readonly onAnswer: (line: string) => void;
  readonly clock: Clock;
}

/** Asked by machines, again and again. */
const QUIET = new Set(['/ok', '/info', '/metrics']);

/** A server that refuses connections has just ended: the next one is on its way. */
const ATTEMPTS = 5;
const AGAIN_MS = 50;

const OF_ONE_CONNECTION = /^(connection|keep-alive)$/i;

/**
 * True when a request may be repeated even if a server that ended had begun with it, and none of its body was
 * consumed.
 */
function mayRepeat({ method, headers }: IncomingMessage): boolean {
  const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  return (method === 'GET' || method === 'HEAD') && !hasBody;
}

function namesThisMachine(header: string | undefined): boolean {
  return (
    header !== undefined &&
    URL.canParse(`http://${header}`) &&
    isOwnName(new URL(`http://${header}`).hostname)
  );
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * The one address of an agent whose servers are replaced: requests wait while it has none, and are passed on
 * unchanged, streams and WebSockets included.
 */
export class FrontDoor {
  readonly name = 'front door';
  readonly #server: Server;
  // a connection that is kept may end with its server just as it is sent the next request
  readonly #agent = new Agent({ keepAlive: false });
  readonly #sockets = new Set<Duplex>();

  constructor(private readonly options: FrontDoorOptions) {
    this.#server = createServer(
      { ...serverOptions(), shouldUpgradeCallback: asksToUpgrade },
      (request, response) => void this.#serve(request, response),
    );
    this.#server.on('upgrade', (request, _socket, head) => void this.#upgrade(request, head));
  }

  /** @throws Error with the code of the operating system */
  async listen(port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, this.options.host, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
    this.#agent.destroy();
  }

  #refusal({ headers }: IncomingMessage): { status: number; detail: string } | undefined {
    const { key, origins } = this.options;
    if (key === undefined) {
      if (!namesThisMachine(headers.host))
        return {
          status: 403,
          detail: 'This server answers for localhost only; use --host to let others call',
        };
      const { origin } = headers;
      if (origin === undefined || mayCall(origin, origins())) return undefined;
      const detail = `Pages of ${origin} may not call this agent; name them in "http": {"cors": {"allow_origins": …}} of langgraph.json`;
      return { status: 403, detail };
    }
    const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
    const given = headers['x-api-key'] ?? bearer ?? '';
    return timingSafeEqual(sha256(String(given)), sha256(key))
      ? undefined
      : { status: 401, detail: 'API key missing or wrong; send the printed key as x-api-key' };
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock, onAnswer } = this.options;
    const startedMs = clock.monotonicMs();
    const path = request.url?.split('?', 1)[0] ?? '';
    response.on('close', () => {
      if (QUIET.has(path) || request.method === 'OPTIONS') return;
      const tookMs = Math.round(clock.monotonicMs() - startedMs);
      const status = response.headersSent ? response.statusCode : 'closed by its caller';
      // a path may have any byte above ASCII, and a terminal obeys some of them
      onAnswer(`${request.method} ${visibleText(path)} ${status} in ${tookMs} ms`);
    });
    const refusal = request.method === 'OPTIONS' ? undefined : this.#refusal(request);
    if (refusal) return answer(response, refusal.status, { detail: refusal.detail });
    await this.#lead(request, response, ATTEMPTS);
  }

  async #lead(request: IncomingMessage, response: ServerResponse, attempts: number): Promise<void> {
    const destination = await this.options.destination();
    if (response.destroyed) return;
    if (destination.kind === 'none') return answer(response, 503, destination.body);
    this.#pass(request, response, destination.port, attempts - 1);
  }

  #pass(request: IncomingMessage, response: ServerResponse, port: number, attemptsLeft: number): void {
    const { method = 'GET', url: path = '/', headers } = request;
    const passed = ask({ host: '127.0.0.1', port, method, path, headers, agent: this.#agent }, (answered) => {
      passAnswer(answered, response);
    });
    passed.on('error', (error: NodeJS.ErrnoException) => {
      if (response.headersSent) response.destroy();
      else if ((error.code === 'ECONNREFUSED' || mayRepeat(request)) && attemptsLeft > 0)
        this.options.clock.after(AGAIN_MS, () => void this.#lead(request, response, attemptsLeft));
      else answer(response, 503, { detail: 'The agent was reloaded before it answered; retry' });
    });
    response.on('close', () => passed.destroy());
    // nothing is read of a request before there is a server that takes it
    passed.on('socket', (socket) => socket.once('connect', () => request.pipe(passed)));
  }

  async #upgrade(request: IncomingMessage, head: Buffer): Promise<void> {
    const response = upgradeAnswer(request);
    if (!response) return;
    this.#keep(request.socket);
    const refusal = this.#refusal(request);
    if (refusal) return answer(response, refusal.status, { detail: refusal.detail });
    const destination = await this.options.destination();
    if (response.destroyed) return;
    if (destination.kind === 'none') return answer(response, 503, destination.body);
    const { method = 'GET', url: path = '/', headers } = request;
    const passed = ask({
      host: '127.0.0.1',
      port: destination.port,
      method,
      path,
      headers,
      agent: this.#agent,
    });
    passed.once('upgrade', (_changed, socket) => this.#keep(socket));
    response.once('close', () => passed.destroy());
    passUpgrade(passed, {
      response,
      head,
      clock: this.options.clock,
      onAnswer: (answered) => passAnswer(answered, response),
      onNone: (isLate) =>
        isLate
          ? answer(response, 504, { detail: 'The agent did not answer an upgrade in time' })
          : answer(response, 503, { detail: 'The agent was reloaded before it answered; retry' }),
    });
  }

  #keep(socket: Duplex | Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
  }
}

function passAnswer(from: IncomingMessage, to: ServerResponse): void {
  const { rawHeaders } = from;
  const headers = rawHeaders.filter((_, at) => !OF_ONE_CONNECTION.test(rawHeaders[at - (at % 2)] ?? ''));
  to.writeHead(from.statusCode ?? 502, from.statusMessage, headers);
  to.flushHeaders();
  from.pipe(to);
  // a stream that breaks off here must not look complete there
  from.on('error', () => to.destroy());
}

function answer(response: ServerResponse, status: number, body: object): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'access-control-allow-origin': '*',
  });
  response.end(text);
}

/** Origin of LangGraph Studio, which people open beside their agent. */
const STUDIO = /^https:\/\/([a-z]+\.)?smith\.langchain\.com$/;

/** True when only programs of this machine reach an address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** The name in a `Host` header or an origin. A page elsewhere can point a name of its own to this machine. */
function isOwnName(hostname: string): boolean {
  const name = hostname.replace(/^\[|\]$/g, '');
  return isLoopback(name) || name.endsWith('.localhost');
}

/**
 * True when a page may call an agent that asks for no key. Every page in a browser of this machine reaches
 * its address, and would run the agent with all its tools.
 * @param allowed origins that the agent names; `*` is any
 */
export function mayCall(origin: string, allowed: readonly string[]): boolean {
  if (STUDIO.test(origin) || allowed.includes('*') || allowed.includes(origin.toLowerCase())) return true;
  return URL.canParse(origin) && isOwnName(new URL(origin).hostname);
}
