import type { Clock } from '#lib/time';
import { TooManyRefsError } from './find-commit.js';

/** Who wants to know. */
export interface Asker {
  readonly uid: string;
  readonly namespace: string;
  /** Of an object whose question may change: what was found for an earlier one answers none of a later. */
  readonly generation?: number | undefined;
  /** URL and ref. */
  readonly subject: string;
}

interface Look extends Asker {
  readonly result: Promise<string>;
  /** When it ended, on the monotonic clock. */
  endedMs: number | undefined;
}

const PLACES = 16;
const PLACES_OF_NAMESPACE = 4;
/** A host that answers is waited for; one that does not holds a place here, and no worker. */
const PATIENCE_MS = 1_000;
/** Results that are not fetched: whoever asked was deleted. */
const KEPT_MS = 60_000;
/** Who waits for a place asks every two seconds; the turn of one that was deleted passes. */
const TURN_MS = 10_000;
/** A list that was too long is not read again for as long: reading it costs more than any other look. */
const TOO_MANY_KEPT_MS = 600_000;

/**
 * Looks for commits that go on beside the passes which ask for them: a host that accepts a connection and then is silent
 * would hold one of the few workers for its whole time-out, and with a few repositories all of them.
 */
export class CommitLooks {
  readonly #clock: Clock;
  readonly #looks = new Map<string, Look>();
  /** Namespaces that found no place, by whose turn it is, and when they asked last, on the monotonic clock. */
  readonly #waiting = new Map<string, number>();
  /** By namespace and subject; until when, on the monotonic clock. */
  readonly #tooMany = new Map<string, { readonly error: TooManyRefsError; readonly untilMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * What a look has found, once; it begins with the first call, which alone waits a moment for it. Places that become free
   * go to namespaces in turns.
   * @returns undefined while it goes on, or waits for a place: ask again
   * @throws what the look threw, once
   */
  async ask(asker: Asker, look: () => Promise<string>): Promise<string | undefined> {
    this.#forget();
    const tooMany = this.#tooMany.get(listOf(asker));
    if (tooMany) throw tooMany.error;
    const going = this.#looks.get(keyOf(asker));
    const found = going ?? this.#begin(asker, look);
    if (!found) return undefined;
    if (!going) await Promise.race([found.result.catch(() => undefined), this.#clock.sleep(PATIENCE_MS)]);
    if (found.endedMs === undefined) return undefined;
    this.#looks.delete(keyOf(asker));
    return await found.result;
  }

  #begin(asker: Asker, look: () => Promise<string>): Look | undefined {
    if (!this.#hasTurn(asker.namespace)) {
      this.#waiting.set(asker.namespace, this.#clock.monotonicMs());
      return undefined;
    }
    this.#waiting.delete(asker.namespace);
    const begun: Look = { ...asker, result: look(), endedMs: undefined };
    const end = (error?: unknown): void => {
      begun.endedMs = this.#clock.monotonicMs();
      if (error instanceof TooManyRefsError)
        this.#tooMany.set(listOf(asker), { error, untilMs: begun.endedMs + TOO_MANY_KEPT_MS });
    };
    begun.result.then(() => end(), end);
    this.#looks.set(keyOf(asker), begun);
    return begun;
  }

  #hasTurn(namespace: string): boolean {
    const running = [...this.#looks.values()].filter(({ endedMs }) => endedMs === undefined);
    const isFull = (name: string): boolean =>
      running.filter((one) => one.namespace === name).length >= PLACES_OF_NAMESPACE;
    const waiting = [...this.#waiting.keys()];
    const turn = waiting.indexOf(namespace);
    const ahead = waiting.slice(0, turn < 0 ? undefined : turn).filter((one) => !isFull(one));
    return !isFull(namespace) && running.length + ahead.length < PLACES;
  }

  #forget(): void {
    const turns = this.#clock.monotonicMs() - TURN_MS;
    for (const [namespace, askedMs] of this.#waiting) if (askedMs < turns) this.#waiting.delete(namespace);
    const now = this.#clock.monotonicMs();
    for (const [list, { untilMs }] of this.#tooMany) if (untilMs <= now) this.#tooMany.delete(list);
    const before = now - KEPT_MS;
    for (const [key, { endedMs }] of this.#looks)
      if (endedMs !== undefined && endedMs < before) this.#looks.delete(key);
  }
}

function keyOf({ uid, generation = 0 }: Asker): string {
  return `${uid}/${generation}`;
}

/** Whoever in a namespace asks for it. */
function listOf({ namespace, subject }: Asker): string {
  return `${namespace} ${subject}`;
}
