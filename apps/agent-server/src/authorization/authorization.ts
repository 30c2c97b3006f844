import { createHash } from 'node:crypto';
import { errorText, PublicError } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { type JsonObject, isJsonObject } from '#lib/json';
import { sourceOf } from '#lib/http';
import { AuthRefusal, refusalOf, tokenRefusal, type AuthUser, parseUser, STUDIO_USER } from './auth-user.js';
import { EVERY_ROW, type MetadataFilter, sqlFilter, type SqlFilter } from '../store/scope.js';
import { type AskedRoute, type AuthHandlers, findCallback } from './auth-handlers.js';

/** A handler asks an identity provider at most; a client would not wait longer. */
const LIMIT_MS = 10_000;

/** Calls that wait at once; one that is over its limit counts no more. */
const MOST = 1_000;
/** Limit per known caller. */
const MOST_OF_CALLER = 250;
/**
 * Calls beyond `MOST` that each caller, or each source of unknown callers, has: late callers are not refused
 * because of earlier ones.
 */
const LEAST_OF_CALLER = 10;
const MOST_WITH_LEAST = 2_000;

/** Errors of the libraries that verify tokens: the token is wrong, not the handler. */
const TOKEN_ERROR = /^(JsonWebTokenError|TokenExpiredError|NotBeforeError)$/;
const TOKEN_CODE = /^ERR_(JWT|JWS|JWE|JWK|JWKS|JOSE)_/;
/** Codes that these libraries report when their own look-up failed. */
const LOOKUP_CODES = ['ERR_JWKS_TIMEOUT', 'ERR_JOSE_GENERIC'];

function isTokenError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code: unknown = Reflect.get(error, 'code');
  if (typeof code === 'string') return TOKEN_CODE.test(code) && !LOOKUP_CODES.includes(code);
  return TOKEN_ERROR.test(error.name);
}

/** Caller on whose behalf a handler is called. */
export interface HandlerCaller {
  /** Caller whose calls are counted together; undefined without authentication. */
  readonly caller: string | undefined;
  /** Source of calls whose callers may be made up, in any number. */
  readonly source?: string;
}

/** Calls an agent's handlers, so that none of them harms other requests: with a time limit, and not too many at once. */
export class HandlerCalls {
  #waiting = 0;
  readonly #waitingOf = new Map<string, number>();
  readonly #waitingFrom = new Map<string, number>();

  constructor(private readonly parts: { readonly clock: Clock; readonly log: Logger }) {}

  /**
   * @param name of the handler, for messages
   * @param call is aborted by its signal when it takes too long
   * @param judge checks the answer of the handler; its errors are those of the handler
   * @throws AuthRefusal from the handler, 401 for a token that is not valid, 500 for any other error, which
   *   is logged here and nowhere else; PublicError `unavailable` when it does not answer
   */
  async perform<T>(
    caller: HandlerCaller,
    name: string,
    call: (signal: AbortSignal) => unknown,
    judge: (answer: unknown) => T,
  ): Promise<T> {
    this.#begin(caller, name);
    const late = Promise.withResolvers<never>();
    const abort = new AbortController();
    const stopTimer = this.parts.clock.after(LIMIT_MS, () => {
      const error = new PublicError('unavailable', `${name}: no answer within ${LIMIT_MS / 1000} s; retry`);
      late.reject(error);
      abort.abort(error);
    });
    try {
      return judge(await Promise.race([this.#called(call, abort.signal), late.promise]));
    } catch (error) {
      throw error instanceof PublicError || error instanceof AuthRefusal ? error : this.#refusal(name, error);
    } finally {
      stopTimer();
      this.#end(caller);
    }
  }

  #begin({ caller, source }: HandlerCaller, name: string): void {
    const own = countOf(this.#waitingOf, caller);
    if (own >= MOST_OF_CALLER)
      throw new PublicError(
        'unavailable',
        `${name}: ${own} requests of this caller wait for their answer; retry`,
      );
    const counted = source === undefined ? own : countOf(this.#waitingFrom, source);
    const hasLeast = (source ?? caller) !== undefined && counted < LEAST_OF_CALLER;
    if (this.#waiting >= (hasLeast ? MOST_WITH_LEAST : MOST))
      throw new PublicError('unavailable', `${name}: ${this.#waiting} requests wait for their answer; retry`);
    this.#waiting += 1;
    count(this.#waitingOf, caller, 1);
    count(this.#waitingFrom, source, 1);
  }

  #end({ caller, source }: HandlerCaller): void {
    this.#waiting -= 1;
    count(this.#waitingOf, caller, -1);
    count(this.#waitingFrom, source, -1);
  }

  /** A handler may throw before it returns a promise. */
  async #called(call: (signal: AbortSignal) => unknown, signal: AbortSignal): Promise<unknown> {
    return call(signal);
  }

  #refusal(name: string, error: unknown): AuthRefusal {
    const refusal = refusalOf(error);
    if (refusal) return refusal;
    if (isTokenError(error)) return tokenRefusal();
    this.parts.log.error(
      { err: error, handler: name, error: errorText(error) },
      'handler of the agent failed',
    );
    return new AuthRefusal(500, `${name} of this agent failed; its log has the reason`);
  }
}

type Counts = Map<string, number>;

function countOf(counts: Counts, name: string | undefined): number {
  return name === undefined ? 0 : (counts.get(name) ?? 0);
}

function count(counts: Counts, name: string | undefined, step: 1 | -1): void {
  if (name === undefined) return;
  const left = countOf(counts, name) + step;
  if (left > 0) counts.set(name, left);
  else counts.delete(name);
}

/** The longest unused are forgotten. */
const MAX_KEPT = 10_000;
/** Limit per identity: a handler that reads one header lets in every variation of the others. */
const MAX_OF_IDENTITY = 20;
const KEPT_MS = 3_600_000;

/** Credentials that were let in lately, by hash, so that none stays in memory. Refused ones never enter. */
class GoodCallers {
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
interface CacheSettings {
  /** Names of the headers that identify the caller; requests with the same values have the same user. */
  readonly headers: readonly string[];
  readonly ttlSeconds: number;
  /** Users kept at once; the oldest goes first. */
  readonly maxSize: number;
}

/** Remembers users that an authentication handler admitted, by hash, so that no token stays in memory. */
class UserCache {
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

function isScalar(value: unknown): value is string | number | boolean {
  // JSON has null for NaN, which rows without an owner may hold
  if (typeof value !== 'number') return ['string', 'boolean'].includes(typeof value);
  // a whole number beyond 2^53 equals its neighbours too
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}

/** A Map or an instance of a class has no own entries, and would let everything through. */
function isPlain(value: unknown): value is JsonObject {
  return isJsonObject(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value) as object);
}

/** A filter that could not be applied must not let anything through. */
function requireCondition(key: string, condition: unknown): void {
  if (isScalar(condition)) return;
  if (!isPlain(condition))
    throw new Error(`filter on ${key}: its value is neither a text, a number, a boolean nor an operator`);
  for (const [operator, operand] of Object.entries(condition))
    if (
      !isScalar(operand) &&
      !(operator === '$contains' && Array.isArray(operand) && operand.every(isScalar))
    )
      throw new Error(
        `filter on ${key}: the operand of ${operator} is neither a text, a number nor a boolean`,
      );
}

/**
 * Filter of an authorization handler: everything (nothing answered, or `true`), or rows that meet a filter.
 * @returns undefined when it refuses (`false`)
 * @throws Error for an answer that cannot be applied
 */
function filterOf(answer: unknown): SqlFilter | undefined {
  if (answer === undefined || answer === null || answer === true) return EVERY_ROW;
  if (answer === false) return undefined;
  if (!isPlain(answer))
    throw new Error(
      `it answered a ${typeof answer} that is no filter; answer nothing, true, false or a filter`,
    );
  for (const [key, condition] of Object.entries(answer)) requireCondition(key, condition);
  return sqlFilter(answer as MetadataFilter);
}

export interface AuthorizationParts {
  readonly handlers: AuthHandlers;
  /** Undefined: every request is authenticated anew. */
  readonly cache: CacheSettings | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

const FORBIDDEN = 'This caller may not do this';

/** Authentication and authorization by an agent's own handlers. */
export class Authorization {
  readonly #handlers: AuthHandlers;
  /**
   * Calls counted separately: any client may authenticate, and made-up credentials must not take the places
   * of good ones.
   */
  readonly #authentications: { readonly known: HandlerCalls; readonly unknown: HandlerCalls };
  readonly #goodCallers: GoodCallers;
  readonly #calls: HandlerCalls;
  readonly #cache: UserCache | undefined;

  constructor({ handlers, cache, clock, log }: AuthorizationParts) {
    this.#handlers = handlers;
    this.#authentications = {
      known: new HandlerCalls({ clock, log }),
      unknown: new HandlerCalls({ clock, log }),
    };
    this.#goodCallers = new GoodCallers(clock);
    this.#calls = new HandlerCalls({ clock, log });
    this.#cache = cache && new UserCache(cache, clock);
  }

  /** True when the agent authenticates callers itself; otherwise the platform does. */
  get authenticates(): boolean {
    return this.#handlers.authenticate !== undefined;
  }

  /**
   * @param build the request for the handler: its address and headers, no body
   * @param address of the client
   * @throws AuthRefusal, PublicError `unavailable`
   */
  async authenticate(
    build: (signal: AbortSignal) => Request,
    headers: JsonObject,
    route: AskedRoute,
    address: string | undefined,
  ): Promise<AuthUser> {
    const { authenticate } = this.#handlers;
    if (!authenticate) throw new AuthRefusal(401, 'Unauthorized');
    const key = this.#cache?.keyOf(headers);
    const known = key === undefined ? undefined : this.#cache?.find(key);
    if (known) return known;
    const user = await this.#askHandler(credentialsOf(headers), sourceOf(address), (signal) =>
      authenticate(build(signal), route, signal),
    );
    if (key !== undefined) this.#cache?.keep(key, user);
    return user;
  }

  async #askHandler(
    credentials: string | undefined,
    source: string,
    call: (signal: AbortSignal) => unknown,
  ): Promise<AuthUser> {
    const known = credentials === undefined ? undefined : this.#goodCallers.find(credentials);
    const { known: ofKnown, unknown: ofUnknown } = this.#authentications;
    const [calls, caller] =
      known === undefined ? [ofUnknown, { caller: credentials, source }] : [ofKnown, { caller: known }];
    try {
      const user = await calls.perform(caller, 'The authentication handler', call, parseUser);
      if (credentials !== undefined) this.#goodCallers.keep(credentials, user.identity);
      return user;
    } catch (error) {
      // a handler that failed did not judge the credentials
      if (credentials !== undefined && error instanceof AuthRefusal && error.status < 500)
        this.#goodCallers.forget(credentials);
      throw error;
    }
  }

  /**
   * Rows that a caller may reach by one request; without a handler for it, everything.
   * @param event `resource:action`
   * @param value of the request; the handler may change it
   * @throws AuthRefusal, PublicError `unavailable`
   */
  async authorize(event: string, user: AuthUser, value: JsonObject): Promise<SqlFilter | undefined> {
    const callback = findCallback(this.#handlers, event);
    if (!callback) return undefined;
    const [resource = '', action = ''] = event.split(':');
    const given = structuredClone(user);
    const filter = await this.#calls.perform(
      { caller: user.identity },
      `The authorization handler for ${event}`,
      (signal) =>
        callback(
          { event, resource, action, value, permissions: given.permissions, user: given },
          signal,
          user === STUDIO_USER,
        ),
      (answer) => filterOf(answer) ?? 'refused',
    );
    if (filter === 'refused') throw new AuthRefusal(403, FORBIDDEN);
    return filter;
  }
}

/** Credentials by which usual clients differ; undefined for a client without any. */
function credentialsOf({ authorization, cookie, 'x-api-key': key }: JsonObject): string | undefined {
  const shown = [authorization, key, cookie].filter((one) => typeof one === 'string');
  return shown.length === 0 ? undefined : JSON.stringify(shown);
}
