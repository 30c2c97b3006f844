import { createHash, randomUUID } from 'node:crypto';
import { unless, type FieldProblem } from '#lib/errors';
import { type Draft, isAlreadyExists } from '#lib/kube';
import { type AddressGuard, hostOf, judgeHosts, parseWebhookUrl, signingSecretsOf } from '#lib/outbound';
import { ANNOTATION, type BulkExport, WEBHOOK_SECRET_KEY } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { SecretHome } from '../kubernetes/secret-home.js';
import type { ExportWebhookRequest } from './export-request.js';

/** Maximum length that the resource accepts. */
const MAX_URL = 2_048;

export interface ExportWebhookParts {
  readonly secrets: SecretHome;
  readonly guard: AddressGuard;
  readonly clock: Pick<Clock, 'after'>;
}

/** An export with its webhook, before it is made. */
export interface PreparedExport {
  readonly draft: Draft<BulkExport>;
  /** Parts that two requests for the same have in common: a digest of the secret, and no generated name. */
  readonly body: unknown;
  /**
   * Makes the Secret that signs the calls of the export, owned by it from the start: whatever ends this program in
   * between, no secret stays behind without an export. Until then no call is made. Repeating it changes nothing.
   */
  readonly sign: (made: BulkExport) => Promise<void>;
}

/** Webhooks that requests give exports. */
export class ExportWebhooks {
  constructor(private readonly parts: ExportWebhookParts) {}

  /** Problems of a webhook; its host is resolved. */
  async problems(webhook: ExportWebhookRequest | undefined): Promise<readonly FieldProblem[]> {
    if (!webhook) return [];
    const { guard, clock } = this.parts;
    const problem = (name: 'url' | 'secret', why: string): FieldProblem => ({
      loc: ['body', 'webhook', name],
      msg: `the webhook cannot be called: ${why}`,
      type: 'webhook_refused',
    });
    if (typeof webhook.secret === 'string' && signingSecretsOf(webhook.secret).length === 0)
      return [problem('secret', 'the secret has commas and blanks alone')];
    const url = parseWebhookUrl(webhook.url, 'give a secret, which signs the calls');
    if (typeof url === 'string') return [problem('url', url)];
    if (url.href.length > MAX_URL) return [problem('url', `it is longer than ${MAX_URL} characters`)];
    const [refusal] = await judgeHosts([hostOf(url)], guard, clock);
    return refusal ? [problem('url', refusal.message)] : [];
  }

  /** An export that calls the webhook of a request, which has no problems. */
  prepare(draft: Draft<BulkExport>, webhook: ExportWebhookRequest | undefined): PreparedExport {
    const sign = (): Promise<void> => Promise.resolve();
    if (!webhook) return { draft, body: draft.spec, sign };
    const { metadata, spec } = draft;
    const parsed = parseWebhookUrl(webhook.url, '');
    const url = typeof parsed === 'string' ? parsed : parsed.href;
    const secret = webhook.secret ?? undefined;
    const body = { ...spec, webhook: { url, secret: secret && digestOf(secret) } };
    if (secret === undefined) return { draft: { metadata, spec: { ...spec, webhook: { url } } }, body, sign };
    const name = `webhook-${randomUUID()}`;
    const annotations = { ...metadata.annotations, [ANNOTATION.webhookSecret]: name };
    return {
      draft: {
        metadata: { ...metadata, annotations },
        spec: { ...spec, webhook: { url, secretRef: { name } } },
      },
      body,
      sign: (made) => this.#giveSecret(made, url, secret),
    };
  }

  /**
   * True when the Secret that signs the calls of an export still exists; also for an export whose calls are
   * not signed.
   */
  async canSign({ metadata: { namespace = '' }, spec }: BulkExport): Promise<boolean> {
    const name = spec.webhook?.secretRef?.name;
    return (
      name === undefined ||
      (await this.parts.secrets.names({ namespace, name })).includes(WEBHOOK_SECRET_KEY.secret)
    );
  }

  /** Stores the secret of an export. It signs calls of this URL alone, even if other exports name it. */
  async #giveSecret(made: BulkExport, url: string, secret: string): Promise<void> {
    const { metadata, spec } = made;
    const place = { namespace: metadata.namespace ?? '', name: spec.webhook?.secretRef?.name ?? '' };
    const values = { [WEBHOOK_SECRET_KEY.secret]: secret, [WEBHOOK_SECRET_KEY.url]: url };
    await this.parts.secrets.create(place, 'webhook-secret', values, made).catch(unless(isAlreadyExists));
  }
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
