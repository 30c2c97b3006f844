import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '#lib/time';

/**
 * Maximum number of interim answers: a server that works for an hour and reports it every few seconds sends
 * fewer.
 */
const MAX_INTERIM = 1_000;

/**
 * Ends a request whose server sends one interim answer (status 1xx) after the other. They have no body, so that no pause of
 * the reader and no limit of a body holds them, and each of 17 bytes costs the one thread of this process a parse: at the
 * speed of loopback they take all of it, and a time-out of silence never comes.
 * @param why the error that the request ends with
 */
export function boundInterim(
  request: ClientRequest,
  why: Error = new Error(`the server sent more than ${MAX_INTERIM} interim answers (status 1xx)`),
): void {
  let count = 0;
  request.on('information', () => {
    count++;
    if (count > MAX_INTERIM && !request.destroyed) request.destroy(why);
  });
}

/** Bytes both ways until one side ends; an error on one side ends the other. */
export function joinSockets(one: Duplex, other: Duplex): void {
  one.pipe(other);
  other.pipe(one);
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.once('error', () => to.destroy());
    from.once('close', () => to.destroy());
  }
}

/** Cookie by which a browser reads pages of the platform. */
export const PAGE_COOKIE = 'agentplane_page';

function nameOf(pair: string): string {
  const [name = ''] = pair.split('=', 1);
  return name.trim();
}

/**
 * Values of the cookie, as many as others have set: browsers send those of a host to all of its ports, and those that a
 * sibling host has set for the domain.
 * @param header `Cookie` of a request
 */
export function pageCookies(header: string): readonly string[] {
  return header
    .split(';')
    .filter((pair) => nameOf(pair) === PAGE_COOKIE)
    .map((pair) => pair.slice(pair.indexOf('=') + 1).trim());
}

/**
 * The header without the cookie, for servers that run other people's code. A header without the cookie stays
 * as it came.
 * @returns undefined when nothing is left
 */
export function withoutPageCookie(header: string): string | undefined {
  const pairs = header.split(';');
  const kept = pairs.filter((pair) => nameOf(pair) !== PAGE_COOKIE);
  if (kept.length === pairs.length) return header;
  const left = kept.join(';').trimStart();
  return left === '' ? undefined : left;
}

/**
 * Matches the cookie as browsers read it: of a cookie without a name they send back the value alone, which
 * may look like a name and its value.
 */
const SETS_PAGE_COOKIE = new RegExp(`^[ \\t]*=?[ \\t]*${PAGE_COOKIE}[ \\t]*(?:[=;]|$)`);

/**
 * True when a server that runs other people's code would replace the cookie, or end it, in browsers that call
 * it.
 * @param name of a header of its answer
 */
export function setsPageCookie(name: string, value: string): boolean {
  return name.toLowerCase() === 'set-cookie' && SETS_PAGE_COOKIE.test(value);
}

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
