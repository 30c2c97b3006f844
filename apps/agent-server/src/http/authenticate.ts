import { createHash } from 'node:crypto';
import { PublicError } from '#lib/errors';
import type { WrongKeys } from '#lib/http';
import { isJsonObject, type JsonObject } from '#lib/json';
import { Backoff, type Clock } from '#lib/time';
import { type ApiCaller, judgeKey, type KeyVerdict, type ServerIdentity } from './judge-key.js';

/** Time for which an answer about a key is trusted. */
const GOOD_MS = 10_000;
const BAD_MS = 2_000;
/** Known good keys are accepted for a while when the platform does not answer. */
const STALE_MS = 60_000;
const MAX_KEYS = 10_000;
const PAUSES = { firstMs: 100, longestMs: 1_000 };
const VERIFY_TIMEOUT_MS = 5_000;

/** The platform answered, and cannot verify keys at present. */
class PlatformError extends Error {
  override readonly name = 'PlatformError';
}

/** Answer about a key. */
interface Learned {
  readonly verdict: KeyVerdict;
  /** Time at which the platform was asked. */
  readonly atMs: number;
  /** Expiry of the key; no answer is trusted beyond it. */
  readonly endMs: number;
}

/** Verifies API keys by asking the platform, and remembers the answers for seconds. */
export class KeyVerifier {
  /**
   * Answers by hash of the key, so that no key stays in memory. Refused keys have a separate map, so that
   * many of them evict no admitted key.
   */
  readonly #learned = { admitted: new Map<string, Learned>(), refused: new Map<string, Learned>() };
  readonly #asking = new Map<string, Promise<Learned>>();

  constructor(
    private readonly authUrl: string,
    private readonly identity: ServerIdentity,
    private readonly wrongKeys: WrongKeys,
    private readonly clock: Clock,
  ) {}

  /**
   * @throws PublicError `unauthenticated` for a key that is not of this tenant, `forbidden` for one that may not call
   * this deployment, `unavailable` when the platform does not answer, `too_many` for one wrong key too many
   * @param address of the connection
   */
  async verify(key: string | undefined, address: string | undefined): Promise<ApiCaller> {
    if (!key) throw new PublicError('unauthenticated', 'API key missing; send it in the header x-api-key');
    const attempt = this.wrongKeys.begin(address, key);
    const hash = createHash('sha256').update(key).digest('base64');
    const known = this.#learned.admitted.get(hash) ?? this.#learned.refused.get(hash);
    const isFresh = known && this.#isBelieved(known, known.verdict.kind === 'admitted' ? GOOD_MS : BAD_MS);
    const { verdict } = isFresh ? known : await this.#ask(hash, key, known);
    if (verdict.kind === 'refused') {
      const refusal = new PublicError(verdict.code, verdict.message);
      // a key that is refused for its scope was not guessed
      throw verdict.code === 'unauthenticated' ? attempt.wrong(refusal) : refusal;
    }
    attempt.good();
    return verdict.caller;
  }

  #isBelieved({ atMs, endMs }: Learned, forMs: number): boolean {
    const nowMs = this.clock.monotonicMs();
    return nowMs - atMs < forMs && nowMs < endMs;
  }

  #ask(hash: string, key: string, known: Learned | undefined): Promise<Learned> {
    let asking = this.#asking.get(hash);
    if (!asking) {
      const isKnown = known?.verdict.kind === 'admitted' && this.#isBelieved(known, STALE_MS);
      asking = (isKnown ? this.#fetch(hash, key) : this.#persist(hash, key)).finally(() =>
        this.#asking.delete(hash),
      );
      this.#asking.set(hash, asking);
    }
    return asking.catch((error: unknown) => {
      if (known?.verdict.kind === 'admitted' && this.#isBelieved(known, STALE_MS)) return known;
      if (error instanceof PublicError) throw error;
      throw new PublicError('unavailable', 'API key not verified: the platform does not answer; retry', [], {
        cause: error,
      });
    });
  }

  /** A platform that restarts refuses connections for a few seconds: a key that nothing is known of may wait so long. */
  async #persist(hash: string, key: string): Promise<Learned> {
    const deadlineMs = this.clock.monotonicMs() + VERIFY_TIMEOUT_MS;
    const backoff = new Backoff(this.clock, PAUSES);
    for (;;) {
      try {
        return await this.#fetch(hash, key);
      } catch (error) {
        const pauseMs = backoff.nextMs();
        if (error instanceof PlatformError || this.clock.monotonicMs() + pauseMs > deadlineMs) throw error;
        await this.clock.sleep(pauseMs);
      }
    }
  }

  async #fetch(hash: string, key: string): Promise<Learned> {
    // before the question: the time until the key expires counts from some moment after it
    const atMs = this.clock.monotonicMs();
    const response = await fetch(`${this.authUrl}/auth/verify`, {
      method: 'POST',
      headers: { 'x-api-key': key },
      signal: AbortSignal.timeout(VERIFY_TIMEOUT_MS),
    });
    if (response.status >= 500 || response.status === 429) {
      await response.body?.cancel();
      if (response.status === 429) throw tooMany(response);
      throw new PlatformError(`/auth/verify of the platform answered ${response.status}`);
    }
    const body: unknown = response.ok ? await response.json() : await response.body?.cancel();
    const answer: JsonObject | undefined = isJsonObject(body) ? body : undefined;
    const leftMs = answer?.['expires_in_ms'];
    const learned = {
      verdict: judgeKey(answer, this.identity),
      atMs,
      endMs: typeof leftMs === 'number' ? atMs + leftMs : Infinity,
    };
    this.#keep(hash, learned);
    return learned;
  }

  #keep(hash: string, learned: Learned): void {
    for (const map of Object.values(this.#learned)) map.delete(hash);
    const kept = this.#learned[learned.verdict.kind];
    kept.set(hash, learned);
    const [oldest] = kept.keys();
    if (kept.size > MAX_KEYS && oldest !== undefined) kept.delete(oldest);
  }
}

/** The platform has been sent too many wrong keys. */
function tooMany({ headers }: Response): PublicError {
  const retryAfterSeconds = Number(headers.get('retry-after') ?? 1);
  return new PublicError('too_many', 'Too many wrong API keys; correct the key and retry later', [], {
    ...(Number.isInteger(retryAfterSeconds) ? { retryAfterSeconds } : {}),
  });
}
