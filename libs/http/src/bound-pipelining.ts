import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';

/** Clients that are in use send one at a time. */
export const MAX_UNANSWERED = 16;

/** The code of the error with which a connection is refused that sent too many requests. */
export const TOO_MANY_UNANSWERED = 'ERR_TOO_MANY_UNANSWERED';

/**
 * Bounds the requests that one connection sends without waiting for answers: Node reads on, and each request
 * costs some kilobytes and the work of an answer. Only the end of the connection stops its parser, and
 * requests that it has read by then reach no handler, whichever comes first: frameworks have theirs from the
 * start.
 * @param onRefused called once for a connection, before it ends
 */
export function boundPipelining(
  server: Server | TlsServer,
  onRefused: (request: IncomingMessage, reason: string) => void,
): void {
  const unanswered = new WeakMap<Socket, Set<ServerResponse>>();
  const emit = server.emit.bind(server) as (event: string | symbol, ...args: unknown[]) => boolean;

  function admits(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    if (socket.destroyed) return false;
    const open = unanswered.get(socket) ?? new Set();
    unanswered.set(socket, open);
    if (open.size >= MAX_UNANSWERED) {
      onRefused(request, `${MAX_UNANSWERED} requests of the connection wait for their answers`);
      socket.destroy();
      return false;
    }
    open.add(response);
    response.once('close', () => open.delete(response));
    return true;
  }

  server.emit = ((event: string | symbol, ...args: unknown[]): boolean => {
    if (event !== 'request') return emit(event, ...args);
    const [request, response] = args as [IncomingMessage, ServerResponse];
    return admits(request, response) ? emit(event, request, response) : true;
  }) as typeof server.emit;
}
