import { findCondition } from './condition.js';
import { CONDITION, REASON } from './condition-type.js';
import type { BulkExport } from './generated/bulk-export.js';
import type { Condition } from './generated/shared.js';

/** Reason why a resource is in the state that it is in. */
export interface StatusReason {
  /** CamelCase word, one of `REASON`. */
  readonly reason: string;
  /** A sentence for people; may be empty. */
  readonly message: string;
}

interface WithConditions {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/**
 * `status_reason` and `status_message` of any kind: reason and message of `Ready`, which every kind computes from its
 * other conditions, failures first. The printer columns Reason and Message of the CRDs show the same condition. While passes
 * over an object that is not ready keep failing, `Ready` is what was true before, and the failure is the reason.
 * @returns undefined until the kind's controller has reported for the first time
 */
export function statusReason({ status }: WithConditions): StatusReason | undefined {
  const ready = findCondition(status?.conditions, CONDITION.ready);
  const failing = findCondition(status?.conditions, CONDITION.reconcileFailing);
  const shown = failing?.status === 'True' && ready?.status !== 'True' ? failing : ready;
  return shown && { reason: shown.reason, message: shown.message };
}

/** The same for an export. One whose cancellation was requested is cancelled for its caller before the controller acts. */
export function exportStatusReason(
  bulkExport: Pick<BulkExport, 'status'> & { readonly spec: { readonly cancel?: boolean } },
): StatusReason | undefined {
  const conditions = bulkExport.status?.conditions;
  const hasEnded = [CONDITION.completed, CONDITION.failed].some(
    (type) => findCondition(conditions, type)?.status === 'True',
  );
  if (bulkExport.spec.cancel && !hasEnded)
    return { reason: REASON.cancelled, message: 'cancellation requested' };
  return statusReason(bulkExport);
}
