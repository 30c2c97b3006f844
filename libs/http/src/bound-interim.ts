import type { ClientRequest } from 'node:http';

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
