import { isJsonObject } from '#lib/json';
import type { RunEnd } from '../store/row/run-end.js';
import type { WireOutcome } from './messages.js';

type Values = Extract<WireOutcome, { kind: 'ended' }>['values'];

const STATUSES: readonly unknown[] = [
  'success',
  'error',
  'interrupted',
  'timeout',
] satisfies readonly RunEnd['status'][];
const THREAD_STATUSES: readonly unknown[] = [
  'idle',
  'interrupted',
  'error',
] satisfies readonly RunEnd['threadStatus'][];
const PLACES: readonly unknown[] = ['none', 'body', 'behind'] satisfies readonly Values[];

/**
 * Problem of an outcome that cannot be read. Both sides are of one build, but the code of an agent runs
 * beside the sender and can write to its pipe.
 * @param chars length of the body
 * @returns undefined for a readable outcome
 */
export function troubleOfOutcome(outcome: unknown, chars: number): string | undefined {
  if (!isJsonObject(outcome)) return 'no object';
  switch (outcome['kind']) {
    case 'ended':
      return troubleOfEnd(outcome['end']) ?? troubleOfTexts(outcome, chars);
    case 'handed-back':
      return undefined;
    case 'lost':
      return typeof outcome['message'] === 'string' ? undefined : 'no message';
    default:
      return 'an unknown kind';
  }
}

function troubleOfEnd(end: unknown): string | undefined {
  if (!isJsonObject(end)) return 'no end';
  const { status, threadStatus, error, isRollback = false } = end;
  if (!STATUSES.includes(status) || !THREAD_STATUSES.includes(threadStatus)) return 'an unknown status';
  if (typeof isRollback !== 'boolean') return 'a rollback that is neither true nor false';
  if (error === undefined) return undefined;
  const hasWords =
    isJsonObject(error) && typeof error['error'] === 'string' && typeof error['message'] === 'string';
  return hasWords ? undefined : 'an error without name and message';
}

function troubleOfTexts(
  { interruptsChars, bodyChars, values }: Readonly<Record<string, unknown>>,
  chars: number,
): string | undefined {
  if (!PLACES.includes(values)) return 'values at an unknown place';
  if (!isCount(interruptsChars) || !isCount(bodyChars)) return 'lengths that are none';
  return interruptsChars + bodyChars > chars ? 'longer texts than its body' : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
