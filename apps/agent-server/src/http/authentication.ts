import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { PublicError } from '#lib/errors';
import type { WrongKeys } from '#lib/http';
import { isJsonObject, type JsonObject } from '#lib/json';
import { Backoff, type Clock } from '#lib/time';
import type { Passed } from '../app-front/app-front.js';
import {
  ANONYMOUS,
  type AuthUser,
  STUDIO_USER,
  userOfKey,
  judgedAddress,
} from '../authorization/auth-user.js';
import type { Authorization } from '../authorization/authorization.js';

/**
 * Address of the client of a request: that of the connection, or the last one of `X-Forwarded-For`, which the
 * trusted proxy in front has added. Clients write the addresses before it.
 */
export function clientAddressOf(
  {
    headers,
    socket,
  }: {
    readonly headers: IncomingMessage['headers'];
    readonly socket: { readonly remoteAddress?: string | undefined };
  },
  trustsForwarded: boolean,
): string | undefined {
  const { remoteAddress } = socket;
  // without an address the connection is closed already
  if (!trustsForwarded || remoteAddress === undefined) return remoteAddress;
  const last = [headers['x-forwarded-for'] ?? ''].flat().join(',').split(',').at(-1)?.trim() ?? '';
  return isIP(last) === 0 ? remoteAddress : last;
}

/** Caller: the owner of an API key. */
interface ApiCaller {
  readonly tenantId: string;
  readonly keyId: string;
  /** Purpose for which the key was made. */
  readonly scope: 'workspace' | 'invoke' | 'deployment';
}

/** Owner of the keys that open a server. */
interface ServerIdentity {
  readonly tenantId: string;
  /** Name of the deployment on the wire; without one no deployment's own key opens the server. */
  readonly deployment: string | undefined;
}

/** Decision whether a key may call this server. */
type KeyVerdict =
  | { readonly kind: 'admitted'; readonly caller: ApiCaller }
  | {
      readonly kind: 'refused';
      readonly code: 'unauthenticated' | 'forbidden';
      readonly message: string;
    };

const INVALID: KeyVerdict = {
  kind: 'refused',
  code: 'unauthenticated',
  message: 'API key not valid for this deployment; use a key of its workspace',
};

function forbidden(found: string): KeyVerdict {
  return {
    kind: 'refused',
    code: 'forbidden',
    message: `API key refused by this deployment: ${found}; use a key of the scope invoke or workspace`,
  };
}

/**
 * Decides whether a key may call this server.
 * @param answer of `/auth/verify`; undefined when the platform refused the key
 */
function judgeKey(answer: JsonObject | undefined, identity: ServerIdentity): KeyVerdict {
  const { tenant_id: tenantId, key_id: keyId, scope, project, agent } = answer ?? {};
  if (tenantId !== identity.tenantId) return INVALID;
  // a token of a person who talks to one agent by the console
  if (agent !== undefined && agent !== identity.deployment)
    return forbidden('it is a token for another deployment');
  const admitted = (by: ApiCaller['scope']): KeyVerdict => ({
    kind: 'admitted',
    caller: { tenantId: identity.tenantId, keyId: typeof keyId === 'string' ? keyId : '', scope: by },
  });
  switch (scope) {
    case 'workspace':
    case 'invoke':
      return admitted(scope);
    case 'deployment':
      // the tracing project of a deployment bears the name by which the server knows itself
      return typeof project === 'string' && project === identity.deployment
        ? admitted(scope)
        : forbidden('it is the own key of another deployment');
    case 'ingest':
    case 'read':
      return forbidden(`its scope is ${scope}`);
    default:
      // a scope of a newer platform opens nothing here until this server knows it
      return forbidden('its scope is unknown');
  }
}

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

export interface AuthenticationParts {
  /** Undefined: the platform does not authenticate. */
  readonly verifier: KeyVerifier | undefined;
  readonly authorization: Authorization | undefined;
  /** True when a studio may call beside the agent's own users. */
  readonly admitsStudio: boolean;
  /** True when a proxy in front of every request adds clients to `X-Forwarded-For`. */
  readonly trustsForwarded: boolean;
}

/** The API key of a request: in `x-api-key`, or as `Authorization: Bearer KEY`. */
function keyOf(headers: IncomingHttpHeaders): string | undefined {
  const key = headers['x-api-key'];
  if (typeof key === 'string') return key;
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}

/**
 * Headers of a request; the body has not arrived when a caller is authenticated.
 * @param address that is judged
 */
function handlerRequest({ headers, method }: FastifyRequest, address: string, signal: AbortSignal): Request {
  const copied = new Headers();
  for (const [name, value] of Object.entries(headers))
    for (const one of [value ?? []].flat()) copied.append(name, one);
  return new Request(address, { method, headers: copied, signal });
}

/**
 * Determines the caller. An authentication handler of the agent decides alone: it gets what a request carries
 * untouched, and keys of the platform open nothing by themselves. One exception: a studio
 * (`x-auth-scheme: langsmith`) shows a key of the scope `workspace`, which the handler does not get.
 */
export class Authentication {
  readonly #passed = new WeakMap<FastifyRequest, Passed>();

  constructor(private readonly parts: AuthenticationParts) {}

  /** Address of the client. */
  addressOf(request: FastifyRequest): string | undefined {
    return clientAddressOf(request, this.parts.trustsForwarded);
  }

  /**
   * Caller of a request.
   * @returns undefined for a server without authentication
   * @throws PublicError `unauthenticated`, `forbidden`, `unavailable`, `too_many`; AuthRefusal of the handler
   */
  async callerOf(
    request: FastifyRequest,
    address: string | undefined = this.addressOf(request),
  ): Promise<AuthUser | undefined> {
    const { authorization, admitsStudio } = this.parts;
    const { headers } = request;
    if (!authorization) return this.#ownerOfKey(request, address);
    if (admitsStudio && headers['x-auth-scheme'] === 'langsmith') return this.#studio(request, address);
    if (!authorization.authenticates) return (await this.#ownerOfKey(request, address)) ?? ANONYMOUS;
    const judged = judgedAddress(headers.host, request.url);
    const params = isJsonObject(request.params) ? request.params : {};
    const route = { target: request.url, params };
    return authorization.authenticate(
      (signal) => handlerRequest(request, judged, signal),
      headers,
      route,
      address,
    );
  }

  /**
   * The caller of a request for a route of this server.
   * @param isForKeys true when the route answers keys of the platform alone, if the platform authenticates
   * @param passed sender known to an app of the agent that left the request to the server
   * @throws as `callerOf`
   */
  async callerOfRoute(
    request: FastifyRequest,
    { isForKeys, passed }: { readonly isForKeys: boolean; readonly passed: Passed | undefined },
  ): Promise<AuthUser | undefined> {
    if (isForKeys && this.parts.verifier !== undefined)
      return this.#ownerOfKey(request, this.addressOf(request));
    if (passed === undefined) return this.callerOf(request);
    this.#passed.set(request, passed);
    return passed.caller ?? this.callerOf(request, passed.address);
  }

  /** Authenticates a request once more, as it was the first time. */
  async callerAgain(request: FastifyRequest): Promise<AuthUser | undefined> {
    const passed = this.#passed.get(request);
    return passed?.caller ? passed.again() : this.callerOf(request, passed?.address);
  }

  async #ownerOfKey({ headers }: FastifyRequest, address: string | undefined): Promise<AuthUser | undefined> {
    const caller = await this.parts.verifier?.verify(keyOf(headers), address);
    return caller && userOfKey(caller);
  }

  /** Any client can send the header; only the key counts. */
  async #studio({ headers }: FastifyRequest, address: string | undefined): Promise<AuthUser> {
    const caller = await this.parts.verifier?.verify(keyOf(headers), address);
    if (caller && caller.scope !== 'workspace')
      throw new PublicError(
        'forbidden',
        `API key refused for a studio: its scope is ${caller.scope}; use a key of the scope workspace`,
      );
    return STUDIO_USER;
  }
}
