import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const followed = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls back once, when an answer has ended or its connection has. Node does not report the connection's end
 * to an answer that waits for an earlier one of its connection.
 */
export function whenExchangeEnds(
  { socket }: Pick<IncomingMessage, 'socket'>,
  response: ServerResponse,
  ended: () => void,
): void {
  const waiting = followed.get(socket) ?? follow(socket);
  const end = (): void => {
    if (waiting.delete(end)) ended();
  };
  waiting.add(end);
  response.once('close', end);
}

/** Callbacks of a connection's requests, which share one listener. */
function follow(socket: Socket): Set<() => void> {
  const waiting = new Set<() => void>();
  followed.set(socket, waiting);
  socket.once('close', () => {
    for (const end of [...waiting]) end();
  });
  return waiting;
}
