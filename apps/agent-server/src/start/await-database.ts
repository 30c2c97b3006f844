import { errorText, WaitingError } from '#lib/errors';
import { REASON } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import { Backoff, type Clock } from '#lib/time';
import { mayPass } from '../store/may-pass.js';
import type { SecretWords } from '../wire/secret-words.js';
import type { Readiness } from './readiness.js';

const PAUSES = { firstMs: 200, longestMs: 3_000 };
/** Longer than a start needs while the database answers. */
const SILENCE_MS = 3_000;

export interface DatabaseWait {
  /** `postgres://…`. Secret. */
  readonly uri: string;
  /** How long the database may be unavailable. */
  readonly patienceMs: number;
  readonly readiness: Readiness;
  readonly secrets: SecretWords;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Performs a step of the start that needs the database, again and again while the database is unavailable; `GET /ok`
 * reports what is waited for. The step may be performed twice.
 * @throws WaitingError `DependencyUnavailable` when the patience ends, an Error that names the database for anything
 * else that the step throws
 */
export async function awaitDatabase(wait: DatabaseWait, step: () => Promise<void>): Promise<void> {
  const { readiness, clock, log } = wait;
  const name = databaseName(wait.uri);
  const announce = (found: string): string => {
    const detail = wait.secrets.hide(`waiting for the ${name}: ${found}`);
    readiness.waits({ detail, waitingFor: 'database' });
    return detail;
  };
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => undefined); // looked at in the race alone
  let found = 'no answer yet';
  // a step may hang on a connection whose other end has disappeared
  const cancelPatience = clock.after(wait.patienceMs, () =>
    ended.reject(new WaitingError(REASON.dependencyUnavailable, announce(found), 0)),
  );
  const cancelSilence = clock.after(SILENCE_MS, () => announce(found));
  const backoff = new Backoff(clock, PAUSES);
  try {
    for (;;) {
      try {
        return await Promise.race([step(), ended.promise]);
      } catch (error) {
        if (error instanceof WaitingError) throw error;
        if (!mayPass(error)) throw new Error(`preparing the ${name} failed`, { cause: error });
        found = errorText(error);
        const detail = announce(found);
        if (backoff.failures === 0) log.warn({ error: detail }, 'database unavailable; waiting for it');
      }
      await Promise.race([backoff.pause(), ended.promise]);
    }
  } finally {
    cancelPatience();
    cancelSilence();
  }
}

/** A database as people know it, without user and password. */
function databaseName(uri: string): string {
  if (!URL.canParse(uri)) return 'database';
  const { hostname, port, pathname } = new URL(uri);
  return `database ${decodeURIComponent(pathname.slice(1))} at ${hostname}:${port || '5432'}`;
}
