import { PLATFORM_VERSION } from '#lib/config';
import { errorText } from '#lib/errors';
import { type ExportLinks, renderExport } from '#lib/export-plan';
import type { KubeClient } from '#lib/kube';
import type { AddressGuard } from '#lib/outbound';
import { type BulkExport, idOf, type Secret, SECRET_TYPE, SECRETS, WEBHOOK_SECRET_KEY } from '#lib/resources';
import {
  parseWebhookUrl,
  postWebhook,
  signatureHeaders,
  signingSecretsOf,
  type WebhookAnswer,
} from '#lib/webhook';

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
