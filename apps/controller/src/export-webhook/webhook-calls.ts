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
 * Maximum number of concurrent calls; each workspace has a lower limit, so that hanging receivers do not
 * block the others.
 */
const PLACES = 32;
const PLACES_OF_WORKSPACE = 2;

type State =
  | { readonly kind: 'waiting' }
  /** A place was given: the next pass over it makes the call, or gives the place back. */
  | { readonly kind: 'admitted' }
  | { readonly kind: 'calling' }
  | { readonly kind: 'ended'; readonly outcome: CallOutcome };

interface Entry {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly state: State;
}

/**
 * The calls that this program makes, and the queue of those that wait for one. A pass does not wait for a
 * call: its end enqueues the key, and the next pass over it reports the outcome.
 */
export class WebhookCalls implements Source {
  /** Entries by key; waiting ones are served in the order of their arrival. */
  readonly #entries = new Map<string, Entry>();
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
    const state = entry?.uid === uid ? entry.state : undefined;
    return {
      isUnderWay: state?.kind === 'calling',
      outcome: state?.kind === 'ended' ? state.outcome : undefined,
    };
  }

  /** Asks for a place. @returns true when there is one; else its key is enqueued once a place is free */
  admit(key: ObjectKey, uid: string): boolean {
    const text = keyText(key);
    const entry = this.#entries.get(text);
    if (entry?.uid !== uid || entry.state.kind === 'ended') {
      this.#entries.delete(text);
      this.#entries.set(text, { key, uid, state: { kind: 'waiting' } });
      this.#serve(text);
    }
    return this.#entries.get(text)?.state.kind === 'admitted';
  }

  /** Makes the call of an export that was admitted. @param call never rejects */
  begin(key: ObjectKey, call: () => Promise<CallOutcome>): void {
    const text = keyText(key);
    const entry = this.#entries.get(text);
    if (entry?.state.kind !== 'admitted') throw new Error(`webhook of ${text} was not admitted`);
    const calling: Entry = { ...entry, state: { kind: 'calling' } };
    this.#entries.set(text, calling);
    void call().then((outcome) => {
      // deleted and made again meanwhile: the outcome concerns nothing any more
      if (this.#entries.get(text) === calling)
        this.#entries.set(text, { ...calling, state: { kind: 'ended', outcome } });
      this.#serve();
      this.#enqueue(key);
    });
  }

  /** Leaves the queue, gives a place back, or forgets an outcome; a call in flight continues. */
  leave(key: ObjectKey): void {
    const text = keyText(key);
    const entry = this.#entries.get(text);
    if (!entry || entry.state.kind === 'calling') return;
    this.#entries.delete(text);
    if (entry.state.kind === 'admitted') this.#serve();
  }

  /** Gives free places to those that wait. @param asking its caller looks itself, and is not enqueued */
  #serve(asking?: string): void {
    const taken = [...this.#entries.values()].filter(({ state }) => hasPlace(state));
    const byWorkspace = new Map<string, number>();
    const countOf = ({ key }: Entry): number => byWorkspace.get(key.namespace ?? '') ?? 0;
    const count = (entry: Entry): unknown => byWorkspace.set(entry.key.namespace ?? '', countOf(entry) + 1);
    taken.forEach(count);
    let free = PLACES - taken.length;
    for (const [text, entry] of this.#entries) {
      if (free <= 0) return;
      if (entry.state.kind !== 'waiting' || countOf(entry) >= PLACES_OF_WORKSPACE) continue;
      this.#entries.set(text, { ...entry, state: { kind: 'admitted' } });
      count(entry);
      free--;
      if (text !== asking) this.#enqueue(entry.key);
    }
  }
}

function hasPlace({ kind }: State): boolean {
  return kind === 'admitted' || kind === 'calling';
}
