import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { leaveAnswer } from '../app-front/forward.js';
import { type CorsPolicy, MAY_NOT_READ, refusedOrigin } from './cors.js';
import { WebSocketServer, type WebSocket } from 'ws';

/** Limit per message: a command with its input. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** Subprotocol of the server; a client that sends credentials by subprotocol offers it too. */
const SUBPROTOCOL = 'agentplane';

/** Subprotocols that carry credentials: browsers can set no header of a WebSocket. */
const CREDENTIALS: readonly (readonly [RegExp, string, string])[] = [
  [/^x-api-key\.(.+)$/, 'x-api-key', ''],
  [/^bearer\.(.+)$/, 'authorization', 'Bearer '],
];

/** A request for a socket that is not open yet. */
interface Upgrade {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

const sockets = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: MAX_MESSAGE_BYTES,
  // a message in packets of one byte costs some hundred times its size
  maxBufferedChunks: 16_384,
  handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : ([...offered][0] ?? false)),
});

/**
 * Returns true for requests that open a socket. Other upgrade requests are served as plain requests: other
 * methods have a body, which never arrives after an upgrade.
 */
function asksForSocket({ method, headers, url = '' }: IncomingMessage): boolean {
  return (
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    /\/threads\/[^/?]+\/stream\/events\/?(\?|$)/.test(url)
  );
}

/** Option `http` of the server. */
export const UPGRADES = { shouldUpgradeCallback: asksForSocket } as const;

/** Returns true when a socket can be opened in answer to this request. */
export function isUpgrade(request: IncomingMessage): boolean {
  return upgrades.has(request);
}

/** A socket is opened for `asked` in answer to `passed`, which the agent's HTTP app made of it. */
export function passUpgrade(asked: IncomingMessage, passed: IncomingMessage): void {
  const upgrade = upgrades.get(asked);
  if (!upgrade) return;
  upgrades.delete(asked);
  upgrades.set(passed, upgrade);
}

/**
 * Answers the request with a socket.
 * @param onOpen gets the socket, and the answer whose place it takes
 */
export function openSocket(
  request: IncomingMessage,
  onOpen: (socket: WebSocket, response: ServerResponse) => void,
): void {
  const upgrade = upgrades.get(request);
  if (!upgrade) throw new Error('a socket is opened for requests that ask for one');
  const { request: asked, response, head } = upgrade;
  upgrades.delete(request);
  leaveAnswer(response);
  sockets.handleUpgrade(asked, asked.socket, head, (socket) => onOpen(socket, response));
}

/**
 * Serves requests for a WebSocket like any other: they are authenticated and answered by their route.
 *
 * Browsers let every page open a socket to every server, with the cookies of that server and without asking
 * first. The permitted origins are those that may read answers (CORS), and the page's own; cookies and
 * passwords that a browser adds by itself count for the page's own origin, and for others when CORS allows
 * credentials.
 */
export function serveUpgrades(app: FastifyInstance, cors: CorsPolicy): void {
  app.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    if (!isAssigned(response, socket)) return void socket.destroy();
    response.once('finish', () => socket.destroySoon());
    const problem = judgeOrigin(request, cors) ?? takeCredentials(request);
    if (problem) {
      response.writeHead(problem.status, { 'content-type': 'application/json; charset=utf-8' });
      return void response.end(JSON.stringify({ detail: problem.detail }));
    }
    upgrades.set(request, { request, response, head });
    app.routing(request, response);
  });
}

/**
 * Fails while an earlier request is in flight: a client that asks for a socket without waiting for its answer
 * gets none.
 */
function isAssigned(response: ServerResponse, socket: Socket): boolean {
  try {
    response.assignSocket(socket);
    return true;
  } catch {
    return false;
  }
}

interface Problem {
  readonly status: number;
  readonly detail: string;
}

function judgeOrigin({ headers }: IncomingMessage, cors: CorsPolicy): Problem | undefined {
  const { origin, host } = headers;
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).host === host)) return undefined;
  const refused = refusedOrigin(cors, headers);
  if (refused !== undefined)
    return {
      status: 403,
      detail: `WebSocket refused for pages of ${refused}: ${MAY_NOT_READ}`,
    };
  if (cors.allowsCredentials && cors.admits(origin)) return undefined;
  delete headers.cookie;
  if (/^basic /i.test(headers.authorization ?? '')) delete headers.authorization;
  return undefined;
}

/** Moves credentials to the headers that authentication, and handlers of the agent, read. */
function takeCredentials({ headers }: IncomingMessage): Problem | undefined {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());
  const plain = offered.filter((one) => {
    const [match, name, prefix] = credentialIn(one);
    if (match === undefined || name === undefined) return true;
    headers[name] ??= `${prefix}${match}`;
    return false;
  });
  if (plain.length === offered.length) return undefined;
  if (plain.length === 0)
    return {
      status: 400,
      detail: `Sec-WebSocket-Protocol offers credentials alone; offer "${SUBPROTOCOL}" too, which the server answers with`,
    };
  headers['sec-websocket-protocol'] = plain.join(', ');
  return undefined;
}

function credentialIn(offered: string): [string?, string?, string?] {
  for (const [pattern, name, prefix] of CREDENTIALS) {
    const [, secret] = pattern.exec(offered) ?? [];
    if (secret !== undefined) return [secret, name, prefix];
  }
  return [];
}
