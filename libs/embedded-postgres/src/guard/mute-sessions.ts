import { sendSignal } from '#lib/process-identity';
import { backendsOf } from './backend-titles.js';

/** Sessions that may log in at once: a restart of everything has many. They are kept beside all others. */
export const MAX_MUTE = 20;
/** A login takes some milliseconds, and the client may be a program that is still loading on a busy machine. */
const LOGIN_MS = 3_000;

/** What the process of a session is at before it has logged in. */
const LOGGING_IN = / (initializing|authentication)$/;

/**
 * Sessions that do not log in. Each takes a connection as any other does, no limit of a role counts it, and the server
 * waits for it for `authentication_timeout`: a process of the machine could take all of them without a password.
 */
export class MuteSessions {
  #since: ReadonlyMap<number, number> = new Map();

  /** Whether more wait than may. */
  get isCrowded(): boolean {
    return this.#since.size > MAX_MUTE;
  }

  /** Ends those that had time to log in, where more wait than may. @returns how many */
  end(postmaster: number, nowMs: number): number {
    const since = new Map<number, number>();
    for (const { pid, title, isNew } of backendsOf(postmaster))
      if (isNew || LOGGING_IN.test(title)) since.set(pid, this.#since.get(pid) ?? nowMs);
    this.#since = since;
    if (!this.isCrowded) return 0;
    const late = [...since].filter(([, sinceMs]) => nowMs - sinceMs >= LOGIN_MS);
    for (const [pid] of late) sendSignal(pid, 'SIGTERM', false);
    return late.length;
  }
}
