import type { Duplex } from 'node:stream';
import { plainHttp } from './plain-http.js';
import { PROTECTIVE_HEADERS } from './protect-answer.js';

/**
 * Answers on a connection that has no response object: its request was refused by the parser, or asks for an
 * upgrade. Ends it.
 */
export function answerSocket(
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
