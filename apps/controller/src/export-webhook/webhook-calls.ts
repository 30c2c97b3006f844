import { Admission, type Place } from '#lib/admission';
import { PLATFORM_VERSION } from '#lib/config';
import { errorText } from '#lib/errors';
import { type ExportLinks, renderExport } from '#lib/export-plan';
import type { KubeClient, Source } from '#lib/kube';
import {
  type AddressGuard,
  parseWebhookUrl,
  postWebhook,
  signatureHeaders,
  signingSecretsOf,
  type WebhookAnswer,
} from '#lib/outbound';
import {
  type BulkExport,
  idOf,
  keyText,
  type ObjectKey,
  type Secret,
  SECRET_TYPE,
  SECRETS,
  WEBHOOK_SECRET_KEY,
} from '#lib/resources';
import type { CallOutcome } from './decide-webhook.js';

export interface WebhookCaller {
  readonly client: Pick<KubeClient, 'find'>;
  readonly guard: AddressGuard;
}

const ENDED = 'bulk_export.ended';

/**
 * Calls the webhook of an export once. Never rejects.
 *
 * The id is that of the event and the same in every attempt, so that receivers know one that they have had.
 */
export async function callWebhook(
  { client, guard }: WebhookCaller,
  bulkExport: BulkExport,
  links: ExportLinks,
): Promise<WebhookAnswer> {
  const { webhook } = bulkExport.spec;
  const url = parseWebhookUrl(webhook?.url ?? '', 'use secretRef');
  if (typeof url === 'string') return refused(`spec.webhook.url cannot be called: ${url}`, true);
  const secrets = await findSecrets(client, bulkExport, url.href);
  if ('kind' in secrets) return secrets;
  const id = `bulk-export-ended-${idOf(bulkExport) ?? ''}`;
  const body = renderBody(bulkExport, links, id);
  const headers = {
    'user-agent': `agentplane/${PLATFORM_VERSION}`,
    'content-type': 'application/json',
    ...signatureHeaders({ id, sentAt: links.now, body }, secrets.values),
  };
  return await postWebhook({ url: url.href, headers, body }, guard);
}

/** The export as REST answers it, without what concerns the call itself. */
function renderBody(bulkExport: BulkExport, links: ExportLinks, id: string): string {
  const { webhook: _, ...rendered } = renderExport(bulkExport, links);
  return JSON.stringify({
    event_type: ENDED,
    event_id: id,
    webhook_sent_at: links.now.toISOString(),
    ...rendered,
  });
}

/**
 * Finds the signing secrets; empty when the export names no Secret. A call that should be signed is never
 * made unsigned.
 */
async function findSecrets(
  client: Pick<KubeClient, 'find'>,
  { metadata: { namespace = '' }, spec }: BulkExport,
  url: string,
): Promise<{ readonly values: readonly string[] } | WebhookAnswer> {
  const name = spec.webhook?.secretRef?.name;
  if (name === undefined) return { values: [] };
  try {
    const secret = await client.find(SECRETS, { namespace, name });
    if (!secret)
      return refused(
        `Secret ${name} does not exist; create it with the type ${SECRET_TYPE.webhookSecret} and the key ${WEBHOOK_SECRET_KEY.secret}`,
      );
    return valuesOf(secret, url);
  } catch (error) {
    return refused(`reading Secret ${name} failed: ${errorText(error)}`);
  }
}

/**
 * Values of a Secret that sign calls of a URL. The author of an export chooses both name and URL, and needs
 * no right on Secrets: so the Secret's type has to declare its purpose, and it can name the only URL whose
 * calls it signs.
 */
function valuesOf(
  { metadata: { name }, type, data = {} }: Secret,
  url: string,
): { readonly values: readonly string[] } | WebhookAnswer {
  if (type !== SECRET_TYPE.webhookSecret)
    return refused(
      `Secret ${name} is not of the type ${SECRET_TYPE.webhookSecret} and signs no webhooks; create one of this type`,
    );
  const valueOf = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString();
  const only = valueOf(WEBHOOK_SECRET_KEY.url);
  if (only !== '' && (!URL.canParse(only) || new URL(only).href !== url))
    return refused(
      `Secret ${name} signs calls of another URL alone (its key ${WEBHOOK_SECRET_KEY.url}); create one for this webhook`,
    );
  const values = signingSecretsOf(valueOf(WEBHOOK_SECRET_KEY.secret));
  if (values.length > 0) return { values };
  return refused(`Secret ${name} has no value under the key ${WEBHOOK_SECRET_KEY.secret}; give it one`);
}

function refused(why: string, isFinal = false): WebhookAnswer {
  return { kind: 'refused', why, isFinal };
}

/**
 * Limits of concurrent calls; each workspace has a lower one, so that hanging receivers do not block the
 * others.
 */
const PLACES = { capacity: 32, perOwner: 2 };

interface Entry {
  readonly uid: string;
  /** Ends the wait for a place. */
  readonly left: AbortController;
  /** Absent while the export waits for one: the pass over an export that has it makes the call, or gives it back. */
  place?: Place;
  isCalling: boolean;
  outcome?: CallOutcome;
}

/**
 * The calls that this program makes, and the queue of those that wait for one. A pass does not wait for a
 * call: its end enqueues the key, and the next pass over it reports the outcome.
 */
export class WebhookCalls implements Source {
  readonly #entries = new Map<string, Entry>();
  readonly #places = new Admission(PLACES);
  #enqueue: (key: ObjectKey) => void = () => {};

  feed(enqueue: (key: ObjectKey) => void): () => void {
    this.#enqueue = enqueue;
    return () => {
      this.#enqueue = () => {};
    };
  }

  /** Tells if a call for the export is being made, and the outcome of one that has ended. */
  find(
    key: ObjectKey,
    uid: string,
  ): { readonly isUnderWay: boolean; readonly outcome: CallOutcome | undefined } {
    const entry = this.#entries.get(keyText(key));
    return entry?.uid === uid
      ? { isUnderWay: entry.isCalling, outcome: entry.outcome }
      : { isUnderWay: false, outcome: undefined };
  }

  /** Asks for a place. @returns true when there is one; else its key is enqueued once a place is free */
  admit(key: ObjectKey, uid: string): boolean {
    const text = keyText(key);
    const known = this.#entries.get(text);
    if (known?.uid === uid && !known.outcome) return known.place !== undefined && !known.isCalling;
    this.leave(key);
    const entry: Entry = { uid, left: new AbortController(), isCalling: false };
    this.#entries.set(text, entry);
    const place = this.#places.tryEnter(key.namespace);
    if (place) entry.place = place;
    else void this.#wait(key, entry);
    return place !== undefined;
  }

  async #wait(key: ObjectKey, entry: Entry): Promise<void> {
    try {
      entry.place = await this.#places.enter(key.namespace, { signal: entry.left.signal });
    } catch {
      return; // it has left
    }
    if (entry.left.signal.aborted) entry.place.release();
    else this.#enqueue(key);
  }

  /** Makes the call of an export that was admitted. @param call never rejects */
  begin(key: ObjectKey, call: () => Promise<CallOutcome>): void {
    const text = keyText(key);
    const entry = this.#entries.get(text);
    if (!entry?.place || entry.isCalling || entry.outcome)
      throw new Error(`webhook of ${text} was not admitted`);
    const { place } = entry;
    entry.isCalling = true;
    void call().then((outcome) => {
      Object.assign(entry, { isCalling: false, outcome });
      place.release();
      this.#enqueue(key);
    });
  }

  /** Leaves the queue, gives a place back, or forgets an outcome; a call in flight continues. */
  leave(key: ObjectKey): void {
    const text = keyText(key);
    const entry = this.#entries.get(text);
    if (!entry || entry.isCalling) return;
    this.#entries.delete(text);
    entry.left.abort();
    entry.place?.release();
  }
}
