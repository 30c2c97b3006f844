import { PublicError } from '#lib/errors';
import type { WebhookSettings } from '#lib/graph-configuration';
import {
  type AddressGuard,
  hostOf,
  judgeHosts,
  parseWebhookUrl,
  portOf,
  answerOf,
  CALL_TIMEOUT_MS,
  renderFailure,
  type WebhookAnswer,
} from '#lib/outbound';
import type { Clock } from '#lib/time';
import type { AuthUser } from '../authorization/auth-user.js';

/** Limit per request: each is a question to name servers, asked on behalf of another client. */
const MAX_HOSTS = 32;

function refused(why: string): PublicError {
  const msg = `the webhook cannot be called: ${why}`;
  return new PublicError('invalid', msg, [{ loc: ['body', 'webhook'], msg, type: 'webhook_refused' }]);
}

/** An address as it will be called. */
interface Admitted {
  readonly href: string;
  /** Undefined for a path of the agent's own HTTP app. */
  readonly host: string | undefined;
}

/** Placeholder for the agent's own app when an address needs a host; nothing is ever sent there. */
const OWN_BASE = 'http://own-app.invalid';

/** Returns true when a webhook names a path of the agent's own HTTP app. */
export function isOwnPath(url: string): boolean {
  return url.startsWith('/');
}

export interface WebhookPolicyParts {
  readonly settings: WebhookSettings;
  readonly guard: AddressGuard;
  /** True when the agent has an HTTP app, in this process or in that of a server beside it. */
  readonly hasApp: boolean;
  readonly clock: Clock;
}

/** Policy for the addresses that runs may name as their webhooks. */
export class WebhookPolicy {
  constructor(private readonly parts: WebhookPolicyParts) {}

  /** True when the agent's author has switched webhooks off. */
  get isDisabled(): boolean {
    return this.parts.settings.isDisabled;
  }

  /**
   * @returns the address as it will be called
   * @throws PublicError `invalid` with the reason
   */
  async admit(given: string): Promise<string> {
    const [url = given] = await this.admitAll([given]);
    return url;
  }

  /**
   * The same for all webhooks of one request: each of their hosts is resolved once, all at the same time.
   * @throws PublicError `invalid` with the reason of the first that is refused, or for too many hosts
   */
  async admitAll(given: readonly string[]): Promise<string[]> {
    const admitted = given.map((text) => this.#judge(text));
    const hosts = [...new Set(admitted.flatMap(({ host }) => host ?? []))];
    if (hosts.length > MAX_HOSTS)
      throw refused(
        `the request names ${hosts.length} hosts of webhooks; name at most ${MAX_HOSTS}, and send the other runs in a request of their own`,
      );
    const refusals = await judgeHosts(hosts, this.parts.guard, this.parts.clock);
    const refusal = refusals.find((found) => found !== undefined);
    if (refusal) throw refused(refusal.message);
    return admitted.map(({ href }) => href);
  }

  #judge(given: string): Admitted {
    const { settings } = this.parts;
    if (settings.isDisabled)
      throw refused('webhooks are switched off by http.disable_webhooks of langgraph.json');
    if (given.length > settings.maxUrlLength)
      throw refused(`it is longer than ${settings.maxUrlLength} characters`);
    return isOwnPath(given) ? this.#judgeOwn(given) : this.#judgeForeign(given);
  }

  #judgeOwn(given: string): Admitted {
    const { settings, hasApp } = this.parts;
    if (settings.disablesLoopback)
      throw refused('it begins with /, which webhooks.url.disable_loopback forbids');
    if (!hasApp)
      throw refused(
        'it begins with /, which names an HTTP app of the agent (http.app), and the agent has none; use an absolute URL',
      );
    // `//host` and `/\host` are hosts to some readers
    if (!URL.canParse(given, OWN_BASE) || new URL(given, OWN_BASE).origin !== OWN_BASE)
      throw refused('it is no path of the HTTP app of the agent; begin it with one /');
    const { pathname, search } = new URL(given, OWN_BASE);
    return { href: pathname + search, host: undefined };
  }

  #judgeForeign(given: string): Admitted {
    const { requiresHttps, allowedDomains, allowedPorts } = this.parts.settings;
    const url = parseWebhookUrl(given, 'use webhooks.headers of langgraph.json');
    if (typeof url === 'string') throw refused(url);
    if (requiresHttps && url.protocol !== 'https:')
      throw refused('it is not https, which webhooks.url.require_https asks for');
    const host = hostOf(url);
    if (allowedDomains && !allowedDomains.some((domain) => covers(domain, host)))
      throw refused('its host is not among webhooks.url.allowed_domains');
    if (allowedPorts && !allowedPorts.includes(portOf(url)))
      throw refused('its port is not among webhooks.url.allowed_ports');
    return { href: url.href, host };
  }
}

function covers(domain: string, host: string): boolean {
  const plain = host.replace(/\.$/, '');
  return domain.startsWith('*.') ? plain.endsWith(domain.slice(1)) : plain === domain.replace(/^\[|\]$/g, '');
}

/** The agent's own HTTP app. */
export interface OwnApp {
  /**
   * Posts to a path of the app, and never to one of the server's own routes.
   * @throws when the app is unavailable, breaks off or takes too long
   */
  post(call: OwnCall, answerMs: number): Promise<number>;
}

export interface OwnCall {
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Caller of the run, on whose behalf it is called. */
  readonly caller: AuthUser | undefined;
}

/** Calls a path of the agent's own HTTP app once. Never rejects. */
export async function postToOwnApp(call: OwnCall, app: OwnApp | undefined): Promise<WebhookAnswer> {
  // a newer revision may have one, and make the call
  if (!app) return { kind: 'refused', why: 'this revision of the agent has no http.app', isFinal: false };
  try {
    return answerOf(await app.post(call, CALL_TIMEOUT_MS), "the agent's HTTP app");
  } catch (error) {
    return { kind: 'refused', why: renderFailure(error), isFinal: false };
  }
}
