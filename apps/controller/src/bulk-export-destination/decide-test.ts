import type { DestinationCheck } from '#lib/object-store';
import {
  type BulkExportDestination,
  type Condition,
  CONDITION,
  type ConditionDraft,
  findCondition,
  REASON,
} from '#lib/resources';

/**
 * Time after which a refused destination is tested again: people repair buckets without touching the
 * resource.
 */
export const RETEST_REFUSED_MS = 300_000;
/** A store that cannot be reached may be back soon. */
const RETEST_UNREACHABLE_MS = 30_000;

/** Runs of one export fail together, and a test serves them all. */
const RETEST_SUSPECT_MS = 5_000;

/** Keys expire and rights are taken away, which an export should not be the first to find. */
const RETEST_USABLE_MS = 24 * 3_600_000;

/** The result of a test as a condition, and when to test again. */
export interface TestOutcome {
  readonly condition: ConditionDraft;
  readonly testAgainMs: number;
}

/**
 * Milliseconds until the next test, 0 for now.
 * @param isSuspect true when an attempt to write to it has failed since
 */
export function untilNextTest(
  destination: BulkExportDestination,
  hash: string,
  now: Date,
  isSuspect = false,
): number {
  const validated = findCondition(destination.status?.conditions, CONDITION.validated);
  if (!validated || destination.status?.testedHash !== hash) return 0;
  const patience = Math.min(patienceOf(validated), isSuspect ? RETEST_SUSPECT_MS : Number.POSITIVE_INFINITY);
  const testedAt = Date.parse(destination.status.testedAt ?? validated.lastTransitionTime);
  return Math.max(0, testedAt + patience - now.getTime());
}

function patienceOf({ status, reason }: Condition): number {
  if (status === 'True') return RETEST_USABLE_MS;
  return reason === REASON.unreachable ? RETEST_UNREACHABLE_MS : RETEST_REFUSED_MS;
}

/** The condition that follows from the store's answer. */
export function outcomeOf(check: DestinationCheck): TestOutcome {
  const type = CONDITION.validated;
  if (check.kind === 'usable')
    return {
      condition: { type, status: 'True', reason: REASON.usable, message: permissionText(check) },
      testAgainMs: RETEST_USABLE_MS,
    };
  const message = `${check.message}: ${check.advice}`;
  return check.retryable
    ? {
        condition: { type, status: 'False', reason: REASON.unreachable, message },
        testAgainMs: RETEST_UNREACHABLE_MS,
      }
    : {
        condition: { type, status: 'False', reason: REASON.refused, message },
        testAgainMs: RETEST_REFUSED_MS,
      };
}

function permissionText(check: Extract<DestinationCheck, { kind: 'usable' }>): string {
  const missing = [
    ...(check.canDelete ? [] : ['delete objects (the test object stays under tmp/)']),
    ...(check.canRead ? [] : ['read objects (sizes of files cannot be verified)']),
  ];
  const written =
    missing.length === 0
      ? 'a test object was written and removed'
      : `a test object was written; not permitted: ${missing.join(', ')}`;
  return check.isEncryptionUnconfirmed
    ? `${written}; the store did not confirm serverSideEncryption: it may have ignored it`
    : written;
}
