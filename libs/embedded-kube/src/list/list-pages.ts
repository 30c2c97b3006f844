import { randomUUID } from 'node:crypto';
import { Admission, type Place } from '#lib/admission';
import type { Clock } from '#lib/time';
import { badRequest, expired } from '#lib/kube-semantics';
import { lettersOf, type StoredObject } from '../store/stored-object.js';

interface Snapshot {
  /** User who listed. */
  readonly owner: string;
  /** The list that was read: a token is valid for the same list only. */
  readonly of: string;
  readonly items: readonly StoredObject[];
  readonly revision: number;
  readonly expiresAtMs: number;
  readonly place: Place;
}

/** A list whose first page is asked for. */
export interface AskedList {
  /** The list that is read. */
  readonly of: string;
  readonly items: readonly StoredObject[];
  readonly revision: number;
  readonly limit: number;
  /** User who lists. */
  readonly owner: string;
  /** Looks at what the first page has before anything is kept for the others; what it throws is thrown. */
  readonly admit?: (items: readonly StoredObject[]) => void;
}

export interface ListPage {
  readonly items: readonly StoredObject[];
  readonly revision: number;
  /** Token of the next page; undefined on the last. */
  readonly next: string | undefined;
  readonly remaining: number;
}

const MAX_SNAPSHOTS = 128;
/**
 * Limit for the JSON of all snapshots: they keep former versions of objects that have changed since. As much again is
 * for the first snapshots of users.
 */
const MAX_LETTERS = 64 * 1024 * 1024;
const LIFETIME_MS = 5 * 60_000;
const TOO_OLD =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.';

/**
 * Lists in pages that all show the same moment. Stored objects are values, so a snapshot is an array of
 * references. When there are many or large ones the oldest of the same owner are dropped, so that no user pushes out the
 * lists of others, and all after five minutes; their tokens then answer 410.
 */
export class ListPages {
  readonly #snapshots = new Map<string, Snapshot>();
  readonly #kept: Admission;

  constructor(
    private readonly clock: Clock,
    private readonly maxLetters = MAX_LETTERS,
  ) {
    this.#kept = new Admission({ capacity: maxLetters, reserve: { perOwner: 1, units: maxLetters } });
  }

  /** The first page of a list; `of` says what is listed. */
  first({ of, items, revision, limit, owner, admit }: AskedList): ListPage {
    const isWhole = limit <= 0 || items.length <= limit;
    admit?.(isWhole ? items : items.slice(0, limit));
    if (isWhole) return { items, revision, next: undefined, remaining: 0 };
    const letters = items.reduce((sum, item) => sum + lettersOf(item), 0);
    const place = this.#makeRoom(letters, owner);
    const id = randomUUID();
    const expiresAtMs = this.clock.monotonicMs() + LIFETIME_MS;
    const snapshot = { of, owner, items, revision, place, expiresAtMs };
    this.#snapshots.set(id, snapshot);
    return page(snapshot, id, 0, limit);
  }

  /** The page of a token. Throws 410 when its snapshot has expired, 400 when it is of another list. */
  next(of: string, token: string, limit: number): ListPage {
    const [id = '', offset = ''] = Buffer.from(token, 'base64url').toString('utf8').split('@');
    if (!/^\d+$/.test(offset)) throw badRequest('continue key is not valid');
    const snapshot = this.#snapshots.get(id);
    if (!snapshot || snapshot.expiresAtMs < this.clock.monotonicMs()) throw expired(TOO_OLD);
    if (snapshot.of !== of) throw badRequest('continue key is not valid');
    return page(snapshot, id, Number(offset), limit > 0 ? limit : snapshot.items.length);
  }

  /** Drops expired snapshots first, then the oldest of the owner, then the oldest. */
  #makeRoom(letters: number, owner: string): Place {
    const now = this.clock.monotonicMs();
    for (const [id, { expiresAtMs }] of this.#snapshots) if (expiresAtMs < now) this.#forget(id);
    for (;;) {
      const place = this.#kept.tryEnter(owner, letters + this.maxLetters / MAX_SNAPSHOTS);
      if (place) return place;
      const kept = [...this.#snapshots];
      const [id = ''] = kept.find(([, snapshot]) => snapshot.owner === owner) ?? kept[0] ?? [];
      this.#forget(id);
    }
  }

  #forget(id: string): void {
    this.#snapshots.get(id)?.place.release();
    this.#snapshots.delete(id);
  }
}

function page({ items, revision }: Snapshot, id: string, offset: number, limit: number): ListPage {
  const end = offset + limit;
  const next = end < items.length ? Buffer.from(`${id}@${end}`).toString('base64url') : undefined;
  return { items: items.slice(offset, end), revision, next, remaining: Math.max(0, items.length - end) };
}
