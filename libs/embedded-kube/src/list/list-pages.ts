import { randomUUID } from 'node:crypto';
import type { Clock } from '#lib/time';
import { badRequest, expired } from '#lib/kube-semantics';
import type { StoredObject } from '../store/stored-object.js';

interface Snapshot {
  /** What was listed: a token is good for the same list alone. */
  readonly of: string;
  readonly items: readonly StoredObject[];
  readonly revision: number;
  readonly expiresAtMs: number;
  readonly letters: number;
}

export interface ListPage {
  readonly items: readonly StoredObject[];
  readonly revision: number;
  /** Token of the next page; undefined on the last. */
  readonly next: string | undefined;
  readonly remaining: number;
}

const MAX_SNAPSHOTS = 256;
/** Of the JSON of all snapshots: they keep former versions of what has changed since. */
const MAX_LETTERS = 128 * 1024 * 1024;
const LIFETIME_MS = 5 * 60_000;
const TOO_OLD =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.';

/**
 * Lists in pages that all show the same moment. Stored objects are values, so a snapshot is an array of references;
 * the oldest go when there are many or large ones, and after five minutes, and their tokens then answer 410.
 */
export class ListPages {
  readonly #snapshots = new Map<string, Snapshot>();

  #letters = 0;

  constructor(
    private readonly clock: Clock,
    private readonly maxLetters = MAX_LETTERS,
  ) {}

  /** The first page of a list; `of` says what is listed. */
  first(of: string, items: readonly StoredObject[], revision: number, limit: number): ListPage {
    if (limit <= 0 || items.length <= limit) return { items, revision, next: undefined, remaining: 0 };
    const letters = items.reduce((sum, { json }) => sum + json.length, 0);
    this.#makeRoom(letters);
    const id = randomUUID();
    const snapshot = { of, items, revision, letters, expiresAtMs: this.clock.monotonicMs() + LIFETIME_MS };
    this.#snapshots.set(id, snapshot);
    this.#letters += letters;
    return page(snapshot, id, 0, limit);
  }

  /** The page a token stands for. Throws 410 when its snapshot has expired, 400 when it is of another list. */
  next(of: string, token: string, limit: number): ListPage {
    const [id = '', offset = ''] = Buffer.from(token, 'base64url').toString('utf8').split('@');
    if (!/^\d+$/.test(offset)) throw badRequest('continue key is not valid');
    const snapshot = this.#snapshots.get(id);
    if (!snapshot || snapshot.expiresAtMs < this.clock.monotonicMs()) throw expired(TOO_OLD);
    if (snapshot.of !== of) throw badRequest('continue key is not valid');
    return page(snapshot, id, Number(offset), limit > 0 ? limit : snapshot.items.length);
  }

  #makeRoom(letters: number): void {
    const now = this.clock.monotonicMs();
    for (const [id, snapshot] of this.#snapshots) {
      const hasRoom = this.#snapshots.size < MAX_SNAPSHOTS && this.#letters + letters <= this.maxLetters;
      if (hasRoom && snapshot.expiresAtMs >= now) return;
      this.#snapshots.delete(id);
      this.#letters -= snapshot.letters;
    }
  }
}

function page({ items, revision }: Snapshot, id: string, offset: number, limit: number): ListPage {
  const end = offset + limit;
  const next = end < items.length ? Buffer.from(`${id}@${end}`).toString('base64url') : undefined;
  return { items: items.slice(offset, end), revision, next, remaining: Math.max(0, items.length - end) };
}
