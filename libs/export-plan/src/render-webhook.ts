import { type BulkExport, CONDITION, findCondition } from '#lib/resources';
import type { RenderedWebhook, WebhookState } from './rendered-export.js';

const STATES = { True: 'DELIVERED', False: 'FAILED', Unknown: 'PENDING' } as const satisfies Record<
  string,
  WebhookState
>;

/** Progress of an export's webhook. */
export function webhookState({ status }: Pick<BulkExport, 'status'>): WebhookState {
  const condition = findCondition(status?.conditions, CONDITION.webhookDelivered);
  return STATES[condition?.status ?? 'Unknown'];
}

/** The webhook of an export on the wire; null for one without. */
export function renderWebhook(bulkExport: BulkExport): RenderedWebhook | null {
  const { spec, status } = bulkExport;
  if (!spec.webhook) return null;
  const { attempts, lastAttemptAt, nextAttemptAt, deliveredAt, lastError } = status?.webhook ?? {};
  return {
    url: withoutQuery(spec.webhook.url),
    signed: spec.webhook.secretRef !== undefined,
    status: spec.intervalHours === undefined ? webhookState(bulkExport) : null,
    attempts: attempts ?? 0,
    last_attempt_at: lastAttemptAt ?? null,
    next_attempt_at: nextAttemptAt ?? null,
    delivered_at: deliveredAt ?? null,
    last_error: lastError ?? null,
  };
}

/** Receivers are often told apart by a token in the query. */
function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '');
}
