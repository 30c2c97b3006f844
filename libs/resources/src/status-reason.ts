import { findCondition } from './condition.js';
import { CONDITION, REASON } from './condition-type.js';
import type { BulkExport } from './generated/bulk-export.js';
import type { Condition } from './generated/shared.js';

/** Why a resource is in the state that it is in. */
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
 * other conditions, failures first. The printer columns Reason and Message of the CRDs show the same condition.
 * @returns undefined until the kind's controller has reported for the first time
 */
export function statusReason({ status }: WithConditions): StatusReason | undefined {
  const ready = findCondition(status?.conditions, CONDITION.ready);
  return ready && { reason: ready.reason, message: ready.message };
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
