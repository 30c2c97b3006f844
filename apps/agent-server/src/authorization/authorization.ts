import { sourceOf } from '#lib/http';
import { isJsonObject, type JsonObject } from '#lib/json';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { EVERY_ROW, type MetadataFilter, sqlFilter, type SqlFilter } from '../store/sql-filter.js';
import { type AskedRoute, type AuthHandlers, findCallback } from './auth-handlers.js';
import { AuthRefusal, type AuthUser, parseUser, STUDIO_USER } from './auth-user.js';
import { HandlerCalls } from './handler-calls.js';
import { type CacheSettings, GoodCallers, UserCache } from './user-cache.js';

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
