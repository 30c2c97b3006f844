import type { IncomingMessage, ServerResponse } from 'node:http';
import { cutSocket } from './cut-socket.js';
import { plainHttp } from './plain-http.js';
import { SERVER_LIMITS } from './server-limits.js';

/**
 * The answer to a request that asks to change the protocol, as long as that has not changed: Node gives none. It is the
 * last of its connection. Undefined while an answer to an earlier request is under way, whose place this one would take;
 * the connection ends then.
 */
export function upgradeAnswer(request: IncomingMessage): ServerResponse | undefined {
  const { socket } = request;
  socket.on('error', () => socket.destroy());
  const response = new plainHttp.ServerResponse(request);
  response.shouldKeepAlive = false;
  try {
    response.assignSocket(socket);
  } catch {
    return void socket.destroy();
  }
  // Node has given up the connection, and answers the rest of it no longer
  socket.on('drain', () => response.emit('drain'));
  socket.setTimeout(SERVER_LIMITS.answerStallMs, () => {
    if (socket.writableLength > 0) cutSocket(socket);
  });
  response.once('finish', () => socket.destroySoon());
  return response;
}
