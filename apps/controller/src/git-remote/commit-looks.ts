import { Admission } from '#lib/admission';
import type { Clock } from '#lib/time';
import { CostlyListError, TooManyRefsError } from './find-commit.js';

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

/** The places beyond the capacity are for namespaces without a look. */
const PLACES = { capacity: 12, perOwner: 4, reserve: { perOwner: 1, units: 4 } };
/** A host that answers is waited for; one that does not holds a place here, and no worker. */
const PATIENCE_MS = 1_000;
/** Unclaimed results are dropped after this long; the requesting object was deleted. */
const KEPT_MS = 60_000;
/** A list that was too long, or broke off late, is not read again for as long: that costs more than any other look. */
const COSTLY_KEPT_MS = 600_000;

type Costly = TooManyRefsError | CostlyListError;

/**
 * Looks up commits in the background of the passes which ask for them: a host that accepts a connection and
 * then is silent would hold one of the few workers for its whole time-out, and with a few repositories all of
 * them.
 */
export class CommitLooks {
  readonly #looks = new Map<string, Look>();
  readonly #places = new Admission(PLACES);
  /** Costly lists by namespace and subject, and when they may be read again, on the monotonic clock. */
  readonly #costly = new Map<string, { readonly error: Costly; readonly untilMs: number }>();

  constructor(private readonly clock: Clock) {}

  /**
   * Returns the result of a look-up, once; it begins with the first call, which alone waits a moment for it.
   * @returns undefined while it runs, or waits for a place: ask again
   * @throws the error of the look, once
   */
  async ask(asker: Asker, look: () => Promise<string>): Promise<string | undefined> {
    this.#forget();
    const costly = this.#costly.get(listOf(asker));
    if (costly) throw costly.error;
    const going = this.#looks.get(keyOf(asker));
    const found = going ?? this.#begin(asker, look);
    if (!found) return undefined;
    if (!going) await Promise.race([found.result.catch(() => undefined), this.clock.sleep(PATIENCE_MS)]);
    if (found.endedMs === undefined) return undefined;
    this.#looks.delete(keyOf(asker));
    return await found.result;
  }

  #begin(asker: Asker, look: () => Promise<string>): Look | undefined {
    const place = this.#places.tryEnter(asker.namespace);
    if (!place) return undefined;
    const begun: Look = { ...asker, result: look(), endedMs: undefined };
    const end = (error?: unknown): void => {
      place.release();
      begun.endedMs = this.clock.monotonicMs();
      if (error instanceof TooManyRefsError || error instanceof CostlyListError)
        this.#costly.set(listOf(asker), { error, untilMs: begun.endedMs + COSTLY_KEPT_MS });
    };
    begun.result.then(() => end(), end);
    this.#looks.set(keyOf(asker), begun);
    return begun;
  }

  #forget(): void {
    const now = this.clock.monotonicMs();
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
