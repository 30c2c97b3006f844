import {
  type BulkExport,
  type BulkExportStatus,
  CONDITION,
  type ConditionDraft,
  findCondition,
  REASON,
  updateConditions,
  type WebhookDelivery,
} from '#lib/resources';
import type { WebhookDecision } from './decide-webhook.js';

/** A decision that the status has to say. */
export type ReportedDecision = Exclude<WebhookDecision, { readonly kind: 'keep' | 'later' }>;

/** Maximum length that the resource accepts. */
const MAX_ERROR = 1_024;

function draft(decision: ReportedDecision): Omit<ConditionDraft, 'type'> {
  switch (decision.kind) {
    case 'attempt':
      return {
        status: 'Unknown',
        reason: REASON.deliveryPending,
        message: `attempt ${decision.attempt} is in progress`,
      };
    case 'again':
      return {
        status: 'Unknown',
        reason: REASON.deliveryPending,
        message: `${decision.error}; the next attempt is due at ${decision.at.toISOString()}`,
      };
    case 'delivered':
      return { status: 'True', reason: REASON.delivered, message: 'the receiver accepted the call' };
    case 'giveUp':
      return { status: 'False', reason: REASON.deliveryFailed, message: `given up: ${decision.error}` };
    default:
      return decision satisfies never;
  }
}

function deliveryOf(before: WebhookDelivery, decision: ReportedDecision, now: Date): WebhookDelivery {
  const { nextAttemptAt: _, ...kept } = before;
  const at = now.toISOString();
  switch (decision.kind) {
    case 'attempt': {
      const { attempt } = decision;
      return { ...kept, attempts: attempt, firstAttemptAt: kept.firstAttemptAt ?? at, lastAttemptAt: at };
    }
    case 'again':
      return { ...kept, lastError: shortened(decision.error), nextAttemptAt: decision.at.toISOString() };
    case 'delivered':
      return { ...kept, deliveredAt: at };
    case 'giveUp':
      return { ...kept, lastError: shortened(decision.error) };
    default:
      return decision satisfies never;
  }
}

/** Status of the webhook after a decision: one condition, and how far the calls came. */
export function summarizeWebhook(
  { metadata, status }: BulkExport,
  decision: ReportedDecision,
  now: Date,
): BulkExportStatus {
  const before = findCondition(status?.conditions, CONDITION.webhookDelivered);
  return {
    conditions: updateConditions(
      before ? [before] : [],
      { [CONDITION.webhookDelivered]: draft(decision) },
      metadata.generation,
      now,
    ),
    webhook: deliveryOf(status?.webhook ?? {}, decision, now),
  };
}

function shortened(text: string): string {
  return text.length <= MAX_ERROR ? text : `${text.slice(0, MAX_ERROR - 1)}…`;
}
