import { createHash } from 'node:crypto';
import type { JsonObject } from '#lib/json';
import type { Clock } from '#lib/time';
import type { AuthUser } from './auth-user.js';

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

/** `auth.cache` of `langgraph.json`. */
export interface CacheSettings {
  /** Names of the headers that identify the caller; requests with the same values have the same user. */
  readonly headers: readonly string[];
  readonly ttlSeconds: number;
  /** Users kept at once; the oldest goes first. */
  readonly maxSize: number;
}

/** Remembers users that an authentication handler admitted, by hash, so that no token stays in memory. */
export class UserCache {
  readonly #users = new Map<string, { readonly user: AuthUser; readonly untilMs: number }>();

  constructor(
    private readonly settings: CacheSettings,
    private readonly clock: Clock,
  ) {}

  /** Undefined for a request without any of the headers: nothing is known of it. */
  keyOf(headers: JsonObject): string | undefined {
    const values = this.settings.headers.map((name) => headers[name]);
    if (values.every((value) => value === undefined)) return undefined;
    return createHash('sha256').update(JSON.stringify(values)).digest('base64');
  }

  find(key: string): AuthUser | undefined {
    const found = this.#users.get(key);
    if (found && found.untilMs > this.clock.monotonicMs()) return found.user;
    this.#users.delete(key);
    return undefined;
  }

  keep(key: string, user: AuthUser): void {
    const { maxSize, ttlSeconds } = this.settings;
    const [oldest] = this.#users.keys();
    if (this.#users.size >= maxSize && oldest !== undefined) this.#users.delete(oldest);
    this.#users.set(key, { user, untilMs: this.clock.monotonicMs() + ttlSeconds * 1000 });
  }
}
