import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { PublicError } from '#lib/errors';
import { MAX_UNANSWERED, TOO_MANY_UNANSWERED } from './bound-pipelining.js';
import { plainHttp } from './plain-http.js';
import { protectAnswer, PROTECTIVE_HEADERS } from './protect-answer.js';

/**
 * Answers on a connection that has no response object: its request was refused by the parser, or asks for an
 * upgrade. Ends it.
 */
function answerSocket(
  socket: Duplex,
  status: number,
  content: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = JSON.stringify(content);
  const head = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...PROTECTIVE_HEADERS,
    ...headers,
    connection: 'close',
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  const reason = plainHttp.STATUS_CODES[status];
  socket.end(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
}

/** The body of a refusal, in the shape of this server's other errors. */
export type RenderRefusal = (status: number, detail: string) => object;

const DETAILS: Readonly<Record<number, string>> = {
  400: 'The request is not well-formed HTTP',
  408: 'The request did not arrive in time',
  413: 'The extensions of the chunks of the body are too large',
  417: 'The header Expect holds an expectation that is not supported; only 100-continue is',
  503: `${MAX_UNANSWERED} requests of this connection wait for their answers; send the next one after an answer, or on another connection`,
  431: 'The headers of the request are too large',
};

const STATUS_OF: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
  [TOO_MANY_UNANSWERED]: 503,
};

const CONTENT_TYPE = 'application/json; charset=utf-8';

/** Node keeps the answer that a connection is at; there is no public name for it. */
interface AnsweringSocket extends Duplex {
  readonly _httpMessage?: ServerResponse | null;
}

function detailOf(status: number): string {
  return DETAILS[status] ?? 'The request is not well-formed HTTP';
}

/**
 * Answers requests that Node's parser refuses before a program sees them, and expectations that are not
 * supported, in the shape of the server's other errors. It replaces the framework's handler.
 * @param render by default `{"detail": text}`
 */
export function answerBrokenRequests(
  server: Server | TlsServer,
  render: RenderRefusal = (_status, detail) => ({ detail }),
): void {
  server.removeAllListeners('clientError');
  server.on('clientError', (error: NodeJS.ErrnoException, socket: AnsweringSocket) => {
    // half an answer cannot become another one
    if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent === true)
      return void socket.destroy(error);
    const status = STATUS_OF[error.code ?? ''] ?? 400;
    answerSocket(socket, status, render(status, detailOf(status)));
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    protectAnswer(response);
    const body = JSON.stringify(render(417, detailOf(417)));
    response.writeHead(417, { 'content-type': CONTENT_TYPE, 'content-length': Buffer.byteLength(body) });
    response.end(body);
  });
}

/**
 * Requires the Host header, for servers with `requireHostHeader: false`: Node itself would answer without a
 * body.
 * @throws PublicError bad_request for a request of HTTP/1.1 without a Host
 */
function requireHost({ httpVersion, headers }: IncomingMessage): void {
  if (httpVersion === '1.1' && headers.host === undefined)
    throw new PublicError('bad_request', 'The header Host is required');
}

/** Option `http` of a guarded server: requests that Node would refuse with an empty body are refused here. */
export const GUARDED_SERVER = { requireHostHeader: false } as const;

/** Gives every answer of a Fastify server its protective headers, and every broken request an answer in one shape. */
export function guardServer(server: FastifyInstance): void {
  answerBrokenRequests(server.server);
  // no promise: it would cost every request more than the hook itself
  server.addHook('onRequest', (request, reply, done) => {
    protectAnswer(reply.raw);
    try {
      requireHost(request.raw);
    } catch (error) {
      return done(error instanceof Error ? error : new Error(String(error)));
    }
    done();
  });
}
