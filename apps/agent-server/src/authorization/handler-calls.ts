import { errorText, PublicError } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { AuthRefusal, refusalOf, tokenRefusal } from './auth-user.js';

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
