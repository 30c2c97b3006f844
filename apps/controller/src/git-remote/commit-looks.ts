import type { Clock } from '#lib/time';
import { CostlyListError, TooManyRefsError } from './find-commit.js';
import { ReadingPace } from './reading-pace.js';

/** Object for which a commit is looked up. */
export interface Asker {
  readonly uid: string;
  readonly namespace: string;
  /**
   * Identity of its question, where it changes: the result of an earlier question does not answer a later
   * one.
   */
  readonly question?: string;
  /** URL and ref. */
  readonly subject: string;
}

interface Look extends Asker {
  readonly result: Promise<string>;
  /** Time at which it ended, on the monotonic clock. */
  endedMs: number | undefined;
}

const PLACES = 16;
const PLACES_OF_NAMESPACE = 4;
/** A host that answers is waited for; one that does not holds a place here, and no worker. */
const PATIENCE_MS = 1_000;
/** Unclaimed results are dropped after this long; the requesting object was deleted. */
const KEPT_MS = 60_000;
/**
 * A waiting object asks every two seconds; after this long without asking it was deleted and loses its place
 * in the queue.
 */
const TURN_MS = 10_000;
/** A place is kept free for who asked so lately. */
const RESERVED_MS = 3_000;
/** A list that was too long, or broke off late, is not read again for as long: that costs more than any other look. */
const COSTLY_KEPT_MS = 600_000;

type Costly = TooManyRefsError | CostlyListError;

/**
 * Looks up commits in the background of the passes which ask for them: a host that accepts a connection and
 * then is silent would hold one of the few workers for its whole time-out, and with a few repositories all of
 * them.
 */
export class CommitLooks {
  readonly #clock: Clock;
  readonly #looks = new Map<string, Look>();
  /**
   * Namespaces that found no place, in the order of service, and when they asked last, on the monotonic
   * clock.
   */
  readonly #waiting = new Map<string, number>();
  /** Costly lists by namespace and subject, and when they may be read again, on the monotonic clock. */
  readonly #costly = new Map<string, { readonly error: Costly; readonly untilMs: number }>();
  readonly #pace: ReadingPace;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#pace = new ReadingPace(clock);
  }

  /**
   * Returns the result of a look-up, once; it begins with the first call, which alone waits a moment for it.
   * Free places go to namespaces in rotation.
   * @param look gets the pace of all lists that are read
   * @returns undefined while it runs, or waits for a place: ask again
   * @throws the error of the look, once
   */
  async ask(asker: Asker, look: (pace: ReadingPace) => Promise<string>): Promise<string | undefined> {
    this.#forget();
    const costly = this.#costly.get(listOf(asker));
    if (costly) throw costly.error;
    const going = this.#looks.get(keyOf(asker));
    const found = going ?? this.#begin(asker, look);
    if (!found) return undefined;
    if (!going) await Promise.race([found.result.catch(() => undefined), this.#clock.sleep(PATIENCE_MS)]);
    if (found.endedMs === undefined) return undefined;
    this.#looks.delete(keyOf(asker));
    return await found.result;
  }

  #begin(asker: Asker, look: (pace: ReadingPace) => Promise<string>): Look | undefined {
    if (!this.#hasTurn(asker.namespace)) {
      this.#waiting.set(asker.namespace, this.#clock.monotonicMs());
      return undefined;
    }
    this.#waiting.delete(asker.namespace);
    const begun: Look = { ...asker, result: look(this.#pace), endedMs: undefined };
    const end = (error?: unknown): void => {
      begun.endedMs = this.#clock.monotonicMs();
      if (error instanceof TooManyRefsError || error instanceof CostlyListError)
        this.#costly.set(listOf(asker), { error, untilMs: begun.endedMs + COSTLY_KEPT_MS });
    };
    begun.result.then(() => end(), end);
    this.#looks.set(keyOf(asker), begun);
    return begun;
  }

  #hasTurn(namespace: string): boolean {
    const running = [...this.#looks.values()].filter(({ endedMs }) => endedMs === undefined);
    const isFull = (name: string): boolean =>
      running.filter((one) => one.namespace === name).length >= PLACES_OF_NAMESPACE;
    const lately = this.#clock.monotonicMs() - RESERVED_MS;
    const waiting = [...this.#waiting];
    const turn = waiting.findIndex(([name]) => name === namespace);
    const ahead = waiting
      .slice(0, turn < 0 ? undefined : turn)
      .filter(([name, askedMs]) => askedMs >= lately && !isFull(name));
    return !isFull(namespace) && running.length + ahead.length < PLACES;
  }

  #forget(): void {
    const turns = this.#clock.monotonicMs() - TURN_MS;
    for (const [namespace, askedMs] of this.#waiting) if (askedMs < turns) this.#waiting.delete(namespace);
    const now = this.#clock.monotonicMs();
    for (const [list, { untilMs }] of this.#costly) if (untilMs <= now) this.#costly.delete(list);
    const before = now - KEPT_MS;
    for (const [key, { endedMs }] of this.#looks)
      if (endedMs !== undefined && endedMs < before) this.#looks.delete(key);
  }
}

function keyOf({ uid, question = '' }: Asker): string {
  return `${uid}/${question}`;
}

/** Key of a list: the same for all objects of a namespace that ask for it. */
function listOf({ namespace, subject }: Asker): string {
  return `${namespace} ${subject}`;
}
