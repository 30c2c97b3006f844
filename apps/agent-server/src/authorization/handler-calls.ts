import { errorText, PublicError } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { AuthRefusal, refusalOf, tokenRefusal } from './auth-refusal.js';

/** A handler asks an identity provider at most; a client would not wait longer. */
const LIMIT_MS = 10_000;

/** Calls that wait at once; one that is over its limit counts no more. */
const MOST = 1_000;

/** Errors of the libraries that verify tokens: what was sent is wrong, not the handler. */
const TOKEN_ERROR = /^(JsonWebTokenError|TokenExpiredError|NotBeforeError)$/;
const TOKEN_CODE = /^ERR_(JWT|JWS|JWE|JWK|JWKS|JOSE)_/;
/** What these libraries report when their own look-up failed. */
const LOOKUP_CODES = ['ERR_JWKS_TIMEOUT', 'ERR_JOSE_GENERIC'];

function isTokenError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code: unknown = Reflect.get(error, 'code');
  if (typeof code === 'string') return TOKEN_CODE.test(code) && !LOOKUP_CODES.includes(code);
  return TOKEN_ERROR.test(error.name);
}

/** Calls an agent's handlers, so that none of them harms other requests: with a time limit, and not too many at once. */
export class HandlerCalls {
  #waiting = 0;

  constructor(private readonly parts: { readonly clock: Clock; readonly log: Logger }) {}

  /**
   * @param name of the handler, for messages
   * @param call is aborted by its signal when it takes too long
   * @param judge of what the handler answered; its errors are those of the handler
   * @throws AuthRefusal what the handler threw, 401 for a token that is not valid, 500 for any other error, which is
   *   logged here and nowhere else; PublicError `unavailable` when it does not answer
   */
  async perform<T>(
    name: string,
    call: (signal: AbortSignal) => unknown,
    judge: (answer: unknown) => T,
  ): Promise<T> {
    if (this.#waiting >= MOST)
      throw new PublicError('unavailable', `${name}: ${MOST} requests wait for their answer; retry`);
    this.#waiting += 1;
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
      throw error instanceof PublicError ? error : this.#refusal(name, error);
    } finally {
      stopTimer();
      this.#waiting -= 1;
    }
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
