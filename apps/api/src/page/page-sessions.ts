import { createHmac } from 'node:crypto';
import { type Caller, parseApiKey, renderAgentToken, sameHash } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { PAGE_COOKIE, pageCookies, type WrongKeys } from '#lib/http';
import type { Clock } from '#lib/time';
import type { ApiKeys } from '#lib/trace-store';

/** Pages alone are sent this cookie, never the REST interface. */
export const PAGES = '/o';
const VALID_MS = 12 * 3_600_000;
/** Each is looked up. Others can send as many, and shut a person out by that until the cookies of the domain are deleted. */
const MOST_COOKIES = 10;
const FORM = /^([0-9A-Za-z]{12})\.(\d{1,15})\.([\w-]{43})$/;

/** Time for which a token for an agent is taken: agents ask once, when a call begins. */
const TOKEN_MS = 120_000;

/** A signed-in person. */
export interface PageSession {
  readonly caller: Caller;
  /** A credential for calls of one agent, by its name on the wire, on behalf of the person. */
  agentToken(agent: string): string;
}

export interface PageSessionParts {
  readonly keys: Pick<ApiKeys, 'verify' | 'verifyProof'>;
  readonly wrongKeys: WrongKeys;
  readonly clock: Pick<Clock, 'now'>;
  /** Address at which people reach the api; https makes the cookie one for https alone. */
  readonly publicUrl: string | undefined;
}

/**
 * Sessions of page readers, by a cookie instead of a header. The cookie names an API key and an end, signed
 * with the hash of the key that the store has: it ends with the key, holds no secret that opens anything
 * else, and every replica can judge it.
 */
export class PageSessions {
  constructor(private readonly parts: PageSessionParts) {}

  /**
   * @param from address of the client, and whether it came over TLS
   * @returns the cookie to set
   * @throws PublicError unauthenticated (no valid key), too_many
   */
  async begin(
    key: string,
    { address, isTls }: { readonly address: string | undefined; readonly isTls: boolean },
  ): Promise<string> {
    const attempt = this.parts.wrongKeys.begin(address, key);
    const parsed = parseApiKey(key);
    const caller = parsed && (await this.parts.keys.verify(key));
    if (!caller) throw attempt.wrong(new PublicError('unauthenticated', 'The API key is not valid'));
    attempt.good();
    const untilMs = this.parts.clock.now().getTime() + VALID_MS;
    const value = `${parsed.id}.${untilMs}.${proofOf(parsed.hash, parsed.id, untilMs).toString('base64url')}`;
    return this.#cookie(value, VALID_MS / 1_000, isTls);
  }

  /** The cookie that ends a session in this browser. */
  end(): string {
    return this.#cookie('', 0);
  }

  /**
   * Session of the cookie: the first that is valid for the request, else the first that is valid at all, since
   * a neighbour may set one of its own key, too.
   * @returns undefined without one, and when it or its key has ended
   */
  async find(
    cookies: string | undefined,
    isGoodFor: (caller: Caller) => boolean = () => true,
  ): Promise<PageSession | undefined> {
    let other: PageSession | undefined;
    for (const value of [...new Set(pageCookies(cookies ?? ''))].slice(0, MOST_COOKIES)) {
      const session = await this.#findOne(value);
      if (session && isGoodFor(session.caller)) return session;
      other ??= session;
    }
    return other;
  }

  async #findOne(value: string): Promise<PageSession | undefined> {
    const { keys, clock } = this.parts;
    const [, id, until, proof] = FORM.exec(value) ?? [];
    if (id === undefined || Number(until) <= clock.now().getTime()) return undefined;
    const given = Buffer.from(proof ?? '', 'base64url');
    let proved: Buffer | undefined;
    const caller = await keys.verifyProof(id, (hash) => {
      proved = sameHash(proofOf(hash, id, Number(until)), given) ? hash : undefined;
      return proved !== undefined;
    });
    const hash = proved;
    if (!caller || hash === undefined) return undefined;
    // the end is rounded, so that agents know a token that they were shown a moment ago
    const end = (): number => (Math.ceil(clock.now().getTime() / TOKEN_MS) + 1) * TOKEN_MS;
    return { caller, agentToken: (agent) => renderAgentToken({ id, hash }, { agent, untilMs: end() }) };
  }

  #cookie(value: string, maxAge: number, isTls = false): string {
    const secure = isTls || this.parts.publicUrl?.startsWith('https:') ? '; Secure' : '';
    return `${PAGE_COOKIE}=${value}; Path=${PAGES}; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure}`;
  }
}

function proofOf(hash: Buffer, id: string, untilMs: number): Buffer {
  return createHmac('sha256', hash).update(`agentplane pages ${id} ${untilMs}`).digest();
}
