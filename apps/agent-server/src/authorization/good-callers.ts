import { createHash } from 'node:crypto';
import type { Clock } from '#lib/time';

/** The longest unused are forgotten. */
const MAX_KEPT = 10_000;
/** Limit per identity: a handler that reads one header lets in every variation of the others. */
const MAX_OF_IDENTITY = 20;
const KEPT_MS = 3_600_000;

/** Credentials that were let in lately, by hash, so that none stays in memory. Refused ones never enter. */
export class GoodCallers {
  readonly #kept = new Map<string, { readonly caller: string; readonly sinceMs: number }>();
  /** Hashes of each caller, the longest unused first. */
  readonly #ofCaller = new Map<string, Set<string>>();

  constructor(private readonly clock: Clock) {}

  /** @returns their owner, one text for all credentials of an identity; undefined for unknown ones */
  find(credentials: string): string | undefined {
    const kept = this.#kept.get(hashOf(credentials));
    return kept && this.clock.monotonicMs() - kept.sinceMs < KEPT_MS ? kept.caller : undefined;
  }

  keep(credentials: string, identity: string): void {
    const hash = hashOf(credentials);
    const caller = hashOf(identity); // an identity may be long
    this.#remove(hash);
    this.#kept.set(hash, { caller, sinceMs: this.clock.monotonicMs() });
    const own = this.#ofCaller.get(caller) ?? new Set<string>();
    this.#ofCaller.set(caller, own.add(hash));
    if (own.size > MAX_OF_IDENTITY) this.#removeFirst(own);
    if (this.#kept.size > MAX_KEPT) this.#removeFirst(this.#kept.keys());
  }

  forget(credentials: string): void {
    this.#remove(hashOf(credentials));
  }

  #removeFirst([hash]: Iterable<string>): void {
    if (hash !== undefined) this.#remove(hash);
  }

  #remove(hash: string): void {
    const caller = this.#kept.get(hash)?.caller;
    if (caller === undefined) return;
    this.#kept.delete(hash);
    const own = this.#ofCaller.get(caller);
    own?.delete(hash);
    if (own?.size === 0) this.#ofCaller.delete(caller);
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}
