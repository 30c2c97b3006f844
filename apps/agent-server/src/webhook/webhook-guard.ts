import { AddressGuard, type Refusal } from '#lib/outbound';

/** An address that a webhook must not have; another try changes nothing. */
export class WebhookRefusedError extends Error {
  override readonly name = 'WebhookRefusedError';
}

const WHY: Readonly<Record<Refusal, string>> = {
  private:
    'it leads to loopback or a private network; set RUN_WEBHOOK_PRIVATE_ADDRESSES=true for the deployment to allow these',
  never: 'it leads to a link-local, metadata, multicast or reserved address, which webhooks never may call',
  unresolved: 'its name has no address',
};

/** Decides which addresses webhooks may call: callers of the agent write them. */
export function webhookGuard(allowPrivate: boolean): AddressGuard {
  return new AddressGuard({
    allowPrivate,
    refuse: (why) => (why === 'unresolved' ? new Error(WHY[why]) : new WebhookRefusedError(WHY[why])),
  });
}
