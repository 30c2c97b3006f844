import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '#lib/time';
import { boundInterim } from './bound-interim.js';
import { joinSockets } from './join-sockets.js';
import { setsPageCookie } from './page-cookie.js';

/** Time within which a server must answer a request to change the protocol. */
const PATIENCE_MS = 60_000;

/** A request to change the protocol that is passed on. */
export interface PassedUpgrade {
  readonly response: ServerResponse;
  /** Bytes that the client sent ahead. */
  readonly head: Buffer;
  readonly clock: Clock;
  /** The server answered as it answers any request. */
  readonly onAnswer: (answer: IncomingMessage) => void;
  /** @param isLate it gave no answer in time, else closed the connection */
  readonly onNone: (isLate: boolean) => void;
}

/**
 * Passes a request to change the protocol on, and joins both connections once the server has changed it
 * (101). Not before: bytes that a client sends after an answered request are its next request, which may be
 * for another server.
 */
export function passUpgrade(outgoing: ClientRequest, passed: PassedUpgrade): void {
  const { response, head, clock, onAnswer, onNone } = passed;
  let isLate = false;
  const cancel = clock.after(PATIENCE_MS, () => {
    isLate = true;
    outgoing.destroy(new Error('no answer in time'));
  });
  boundInterim(outgoing);
  outgoing.once('upgrade', (changed, server, first) => {
    cancel();
    const client = response.socket;
    if (!client || client.destroyed) return void server.destroy();
    response.detachSocket(client);
    client.setTimeout(0);
    client.write(headOf(changed), 'latin1');
    if (first.length > 0) client.write(first);
    if (head.length > 0) server.write(head);
    joinSockets(client, server);
  });
  outgoing.once('response', (answer) => {
    cancel();
    // so that its rest does not make a reset of the end, which could overtake the answer
    response.socket?.resume();
    onAnswer(answer);
  });
  outgoing.once('error', () => {
    cancel();
    onNone(isLate);
  });
  outgoing.end();
}

/** Head of the answer as it was read: a byte is a letter. */
function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, at) => {
    const value = rawHeaders[at + 1] ?? '';
    return at % 2 === 0 && !setsPageCookie(name, value) ? [`${name}: ${value}`] : [];
  });
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join('\r\n')}\r\n\r\n`;
}
