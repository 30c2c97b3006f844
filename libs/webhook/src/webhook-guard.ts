import { AddressGuard, type Refusal, type Resolve } from '#lib/outbound';

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
