import type { Clock } from '#lib/time';
import { AddressGuard, type Refusal } from '../address-guard.js';
import type { Resolve } from '../name-resolver.js';

/** An address that a webhook must not have; another try changes nothing. */
export class WebhookRefusedError extends Error {
  override readonly name = 'WebhookRefusedError';
}

export interface WebhookGuardOptions {
  /** Loopback and private networks may be called. */
  readonly allowPrivate: boolean;
  /** Remedy by which they may, as the end of a sentence. */
  readonly advice: string;
  readonly resolve?: Resolve;
}

/** Decides which addresses webhooks may call: users write them. */
export function webhookGuard({ allowPrivate, advice, resolve }: WebhookGuardOptions): AddressGuard {
  const why: Readonly<Record<Refusal, string>> = {
    private: `it leads to loopback or a private network; ${advice}`,
    never: 'it leads to a link-local, metadata, multicast or reserved address, which webhooks never may call',
    unresolved: 'its name has no address',
  };
  return new AddressGuard({
    allowPrivate,
    refuse: (what) => (what === 'unresolved' ? new Error(why[what]) : new WebhookRefusedError(why[what])),
    ...(resolve ? { resolve } : {}),
  });
}

/**
 * Time limit, longer than name servers take; a name that is not known by then is judged when it is called.
 */
const RESOLVE_MS = 2_000;

/** Judges hosts ahead of their calls, all at the same time: the refusal of each, undefined for one that may be called. */
export async function judgeHosts(
  hosts: readonly string[],
  guard: AddressGuard,
  clock: Pick<Clock, 'after'>,
): Promise<(Error | undefined)[]> {
  const { promise: tooLate, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.after(RESOLVE_MS, () => resolve(undefined));
  try {
    return await Promise.all(
      hosts.map((host) =>
        Promise.race([tooLate, new Promise<Error | undefined>((judged) => guard.judgeAhead(host, judged))]),
      ),
    );
  } finally {
    cancel();
  }
}

/**
 * A URL that a webhook can have, without its fragment. The addresses of its host are judged elsewhere.
 * @param headers alternative to a user name in the URL, as the end of a sentence
 * @returns a text with the reason for one that it cannot have
 */
export function parseWebhookUrl(given: string, headers: string): URL | string {
  if (!URL.canParse(given)) return 'it is not an absolute URL';
  const url = new URL(given);
  if (!/^https?:$/.test(url.protocol)) return 'only http and https URLs can be called';
  if (url.username !== '' || url.password !== '') return `it holds a user name or a password; ${headers}`;
  url.hash = '';
  return url;
}
