import { PublicError } from '#lib/errors';
import type { WebhookSettings } from '#lib/graph-configuration';
import type { AddressGuard } from '#lib/outbound';
import type { Clock } from '#lib/time';

/** Longer than resolvers take; a name that is not known by then is judged when it is called. */
const RESOLVE_MS = 2_000;

function refused(why: string): PublicError {
  const msg = `the webhook cannot be called: ${why}`;
  return new PublicError('invalid', msg, [{ loc: ['body', 'webhook'], msg, type: 'webhook_refused' }]);
}

/** Which addresses runs may name as their webhooks. */
export class WebhookPolicy {
  constructor(
    private readonly settings: WebhookSettings,
    private readonly guard: AddressGuard,
    private readonly clock: Clock,
  ) {}

  /**
   * @returns the address as it will be called
   * @throws PublicError `invalid` with the reason
   */
  async admit(given: string): Promise<string> {
    const url = this.#judge(given);
    const host = hostOf(url);
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    const cancel = this.clock.after(RESOLVE_MS, () => resolve(undefined));
    this.guard.judgeAhead(host, resolve);
    const refusal = await promise;
    cancel();
    if (refusal) throw refused(refusal.message);
    return url.href;
  }

  #judge(given: string): URL {
    const { isDisabled, maxUrlLength, requiresHttps, allowedDomains, allowedPorts } = this.settings;
    if (isDisabled) throw refused('webhooks are switched off by http.disable_webhooks of langgraph.json');
    if (given.length > maxUrlLength) throw refused(`it is longer than ${maxUrlLength} characters`);
    if (given.startsWith('/')) throw refused(this.#whyNotHere());
    if (!URL.canParse(given)) throw refused('it is not an absolute URL');
    const url = new URL(given);
    if (!/^https?:$/.test(url.protocol)) throw refused('only http and https URLs can be called');
    if (requiresHttps && url.protocol !== 'https:')
      throw refused('it is not https, which webhooks.url.require_https asks for');
    if (url.username !== '' || url.password !== '')
      throw refused('it holds a user name or a password; use webhooks.headers of langgraph.json');
    if (allowedDomains && !allowedDomains.some((domain) => covers(domain, hostOf(url))))
      throw refused('its host is not among webhooks.url.allowed_domains');
    if (allowedPorts && !allowedPorts.includes(portOf(url)))
      throw refused('its port is not among webhooks.url.allowed_ports');
    url.hash = '';
    return url;
  }

  #whyNotHere(): string {
    return this.settings.disablesLoopback
      ? 'it begins with /, which webhooks.url.disable_loopback forbids'
      : 'it begins with /, which names an HTTP app of the agent (http.app), and the agent has none; use an absolute URL';
  }
}

/** The host as guards and sockets take it: without the brackets of IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

export function portOf({ port, protocol }: URL): number {
  return Number(port || (protocol === 'https:' ? 443 : 80));
}

function covers(domain: string, host: string): boolean {
  const plain = host.replace(/\.$/, '');
  return domain.startsWith('*.') ? plain.endsWith(domain.slice(1)) : plain === domain.replace(/^\[|\]$/g, '');
}
