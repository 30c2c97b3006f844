import { WaitingError } from '#lib/errors';
import type { NotReady } from '#lib/lifecycle';
import { retryWhileUnavailable } from '#lib/postgres';
import { REASON } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { SecretWords } from '../wire/secret-words.js';

/** State in which a server takes work: not before its start is complete, and not once it drains. */
export class Readiness {
  #isStarting = true;
  #waiting: NotReady | undefined;
  #describeLoad = (): string => '';
  #isDraining = false;
  #isClosing = false;
  readonly #settled = Promise.withResolvers<void>();

  /** Resolves when the start is complete or over, or waits for something that it reports. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  /** Reason for which the server takes no new work; undefined while it does. */
  get notReady(): NotReady | undefined {
    return this.#isDraining ? { detail: 'draining' } : this.#starting;
  }

  /**
   * Reason for which no request can be served; undefined from the end of the start until the server closes,
   * also while it drains.
   */
  get notServing(): NotReady | undefined {
    return this.#isClosing ? { detail: 'the server is stopping; retry' } : this.#starting;
  }

  get #starting(): NotReady | undefined {
    return this.#isStarting ? (this.#waiting ?? { detail: this.#describeLoad() || 'starting' }) : undefined;
  }

  /** @param describe progress of the load, asked at each request; empty when there is nothing to say */
  loads(describe: () => string): void {
    this.#describeLoad = describe;
  }

  /** @param why undefined: what the start waited for is there */
  waits(why: NotReady | undefined): void {
    this.#waiting = why;
    if (why) this.#settled.resolve();
  }

  started(): void {
    this.#isStarting = false;
    this.#settled.resolve();
  }

  drain(): void {
    this.#isDraining = true;
    this.#settled.resolve();
  }

  close(): void {
    this.#isClosing = true;
    this.#settled.resolve();
  }
}

/** Time longer than a start needs while the database answers. */
const SILENCE_MS = 3_000;

export interface DatabaseWait {
  /** `postgres://…`. Secret. */
  readonly uri: string;
  /** Time for which the database may be unavailable. */
  readonly patienceMs: number;
  readonly readiness: Readiness;
  readonly secrets: SecretWords;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Performs a step of the start that needs the database, repeated while the database is unavailable; `GET /ok`
 * reports what is waited for. The step may be performed twice.
 * @throws WaitingError `DependencyUnavailable` when the patience ends, an Error that names the database for
 *   any other error of the step
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
  ended.promise.catch(() => undefined); // handled only in the race
  let found = 'no answer yet';
  const over = new AbortController();
  const cancelPatience = clock.after(wait.patienceMs, () =>
    ended.reject(new WaitingError(REASON.dependencyUnavailable, announce(found), 0)),
  );
  const cancelSilence = clock.after(SILENCE_MS, () => announce(found));
  const report = (text: string, isFirst: boolean): void => {
    found = text;
    const detail = announce(found);
    if (isFirst) log.warn({ error: detail }, 'database unavailable; waiting for it');
  };
  try {
    // this patience also ends for a step in flight
    const tries = retryWhileUnavailable({ clock, patienceMs: Infinity, report, signal: over.signal }, step);
    await Promise.race([tries, ended.promise]);
    readiness.waits(undefined);
  } catch (error) {
    if (error instanceof WaitingError) throw error;
    throw new Error(`preparing the ${name} failed`, { cause: error });
  } finally {
    over.abort(new Error('the start is over'));
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
