import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { ConnectionRoom } from './connection-room.js';

/**
 * Keeps the connections of a server, with their handshakes, within a limit. Unlike Node's `maxConnections`,
 * which refuses every new one while clients hold as many without asking for anything, this closes idle
 * connections in favour of active ones.
 */
export function boundConnections(server: Server | TlsServer, room: ConnectionRoom): void {
  const emit = server.emit.bind(server) as (event: string | symbol, ...args: unknown[]) => boolean;
  // before the server's own listener, which begins a handshake
  server.emit = ((event: string | symbol, ...args: unknown[]): boolean => {
    if (event === 'connection' && !room.admit(args[0] as Socket)) return true;
    if (event === 'request') {
      const [request, response] = args as [IncomingMessage, ServerResponse];
      // one more than others may add
      response.setMaxListeners(response.getMaxListeners() + 1);
      response.once('close', room.begin(request.socket));
    }
    return emit(event, ...args);
  }) as typeof server.emit;
}
