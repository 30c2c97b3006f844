import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { PROTECTIVE_HEADERS } from '#lib/http';

/** Clients that are in use send one at a time. */
const MAX_UNANSWERED = 16;

/**
 * Bounds what one connection asks for without waiting for answers: Node reads on, and each request costs some kilobytes
 * and a place with a pod. Nothing but the end of the connection stops its parser.
 */
export class PipelinedRequests {
  readonly #unanswered = new WeakMap<Socket, Set<ServerResponse>>();

  /** Whether the request is to be served; else its connection is at its end. */
  admit({ socket }: IncomingMessage, response: ServerResponse, serviceName: string): boolean {
    if (socket.destroyed) return false;
    const unanswered = this.#unanswered.get(socket) ?? new Set();
    this.#unanswered.set(socket, unanswered);
    if (unanswered.size >= MAX_UNANSWERED) {
      const [first] = unanswered;
      // half an answer cannot become another one
      if (!first?.headersSent) socket.write(refusal(serviceName));
      socket.destroy();
      return false;
    }
    unanswered.add(response);
    response.once('close', () => unanswered.delete(response));
    return true;
  }
}

function refusal(serviceName: string): string {
  const detail = `${MAX_UNANSWERED} requests on this connection to Service ${serviceName} wait for their answers; send the next one after an answer, or on another connection`;
  const body = JSON.stringify({ detail });
  const head = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...PROTECTIVE_HEADERS,
    connection: 'close',
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 503 Service Unavailable\r\n${lines.join('')}\r\n${body}`;
}
