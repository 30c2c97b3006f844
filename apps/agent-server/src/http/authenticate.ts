import { createHash } from 'node:crypto';
import { PublicError } from '#lib/errors';
import { isJsonObject } from '#lib/json';
import type { Clock } from '#lib/time';

/** Who calls: the owner of an API key. */
export interface ApiCaller {
  readonly tenantId: string;
  readonly keyId: string;
}

/** How long an answer about a key is believed. */
const GOOD_MS = 10_000;
const BAD_MS = 2_000;
/** Known good keys are accepted for a while when the platform does not answer. */
const STALE_MS = 60_000;
const MAX_KEYS = 10_000;
const VERIFY_TIMEOUT_MS = 5_000;

interface Verdict {
  readonly caller: ApiCaller | undefined;
  readonly atMs: number;
}

/** Verifies API keys by asking the platform, and remembers the answers for seconds. */
export class KeyVerifier {
  /** By hash, so that no key stays in memory. */
  readonly #verdicts = new Map<string, Verdict>();
  readonly #asking = new Map<string, Promise<ApiCaller | undefined>>();

  constructor(
    private readonly authUrl: string,
    private readonly tenantId: string,
    private readonly clock: Clock,
  ) {}

  /** @throws PublicError `unauthenticated` for a key that is not of this tenant, `unavailable` when the platform does not answer */
  async verify(key: string | undefined): Promise<ApiCaller> {
    if (!key) throw new PublicError('unauthenticated', 'API key missing; send it in the header x-api-key');
    const hash = createHash('sha256').update(key).digest('base64');
    const known = this.#verdicts.get(hash);
    const ageMs = known ? this.clock.monotonicMs() - known.atMs : Infinity;
    const isFresh = known !== undefined && ageMs < (known.caller ? GOOD_MS : BAD_MS);
    const caller = isFresh
      ? known.caller
      : await this.#ask(hash, key, ageMs < STALE_MS ? known?.caller : undefined);
    if (!caller)
      throw new PublicError(
        'unauthenticated',
        'API key not valid for this deployment; use a key of its workspace',
      );
    return caller;
  }

  #ask(hash: string, key: string, fallback: ApiCaller | undefined): Promise<ApiCaller | undefined> {
    let asking = this.#asking.get(hash);
    if (!asking) {
      asking = this.#fetchVerdict(hash, key).finally(() => this.#asking.delete(hash));
      this.#asking.set(hash, asking);
    }
    return asking.catch((error: unknown) => {
      if (fallback) return fallback;
      throw new PublicError('unavailable', 'API key not verified: the platform does not answer; retry', [], {
        cause: error,
      });
    });
  }

  async #fetchVerdict(hash: string, key: string): Promise<ApiCaller | undefined> {
    const response = await fetch(`${this.authUrl}/auth/verify`, {
      method: 'POST',
      headers: { 'x-api-key': key },
      signal: AbortSignal.timeout(VERIFY_TIMEOUT_MS),
    });
    if (response.status >= 500 || response.status === 429) {
      await response.body?.cancel();
      throw new Error(`/auth/verify of the platform answered ${response.status}`);
    }
    const answer: unknown = response.ok ? await response.json() : await response.body?.cancel();
    const { tenant_id: tenantId, key_id: keyId } = isJsonObject(answer) ? answer : {};
    const caller =
      tenantId === this.tenantId ? { tenantId, keyId: typeof keyId === 'string' ? keyId : '' } : undefined;
    if (this.#verdicts.size >= MAX_KEYS) this.#verdicts.clear();
    this.#verdicts.set(hash, { caller, atMs: this.clock.monotonicMs() });
    return caller;
  }
}
