import { createHash } from 'node:crypto';
import type { JsonObject } from '#lib/json';
import type { Clock } from '#lib/time';
import type { AuthUser } from './auth-user.js';

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
