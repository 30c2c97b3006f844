import { sendSignal } from '#lib/process-identity';
import { backendsOf } from './backend-titles.js';

/** Sessions that may log in at once: a restart of everything has many. They are kept beside all others. */
export const MAX_MUTE = 20;
/** A login takes some milliseconds, and the client may be a program that is still loading on a busy machine. */
const LOGIN_MS = 3_000;
/**
 * Shortest time for a login. With so many sessions that new ones find no connection, all have to end before
 * the next check.
 */
const LEAST_LOGIN_MS = 250;

/** Activity in the title of a session's process before it has logged in. */
const LOGGING_IN = / (initializing|authentication)$/;

/**
 * Sessions that do not log in. Each takes a connection as any other does, no limit of a role counts it, and the server
 * waits for it for `authentication_timeout`: a process of the machine could take all of them without a password.
 */
export class MuteSessions {
  #since: ReadonlyMap<number, number> = new Map();

  /** True when more wait than may. */
  get isCrowded(): boolean {
    return this.#since.size > MAX_MUTE;
  }

  /** Ends those that had time to log in, the oldest first, until no more wait than may. @returns how many */
  end(postmaster: number, nowMs: number): number {
    const since = new Map<number, number>();
    for (const { pid, title, isNew } of backendsOf(postmaster))
      if (isNew || LOGGING_IN.test(title)) since.set(pid, this.#since.get(pid) ?? nowMs);
    this.#since = since;
    if (!this.isCrowded) return 0;
    const loginMs = loginMsAmong(since.size);
    const late = [...since]
      .filter(([, sinceMs]) => nowMs - sinceMs >= loginMs)
      .toSorted(([, a], [, b]) => a - b)
      .slice(0, since.size - MAX_MUTE);
    for (const [pid] of late) sendSignal(pid, 'SIGTERM', false);
    return late.length;
  }
}

/**
 * Time that one session may take to log in while so many do: the square of the excess, so that a restart of
 * everything keeps its time (40: 750 ms), and 80 that are opened again and again hold their connections for
 * as little as 300 do.
 */
function loginMsAmong(sessions: number): number {
  return Math.max(LEAST_LOGIN_MS, LOGIN_MS * (MAX_MUTE / sessions) ** 2);
}
