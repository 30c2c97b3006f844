import { errorText } from '#lib/errors';
import { isJsonObject } from '#lib/json';
import type { RunEnd } from '../store/row/claimed-run.js';
import type { Outcome } from './execution.js';
import type { WireOutcome } from './messages.js';

/** Rows of runs and of threads hold the message of an error, and so do heads of frames. */
const MAX_MESSAGE_CHARS = 16 * 1024;

/**
 * The message or stack of an error, shortened: its text may quote the value that it was thrown for, of any
 * length.
 */
export function shortMessage(message: string): string {
  if (message.length <= MAX_MESSAGE_CHARS) return message;
  return `${message.slice(0, MAX_MESSAGE_CHARS).toWellFormed()}… (${message.length - MAX_MESSAGE_CHARS} more characters)`;
}

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
function troubleOfOutcome(outcome: unknown, chars: number): string | undefined {
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

type HostOutcome = Exclude<Outcome, { kind: 'crashed' }>;

/** An outcome as a message: large texts are in the body, once. */
export function renderOutcome(outcome: HostOutcome): {
  readonly outcome: WireOutcome;
  readonly body: string;
} {
  switch (outcome.kind) {
    case 'ended': {
      const { values, interrupts = '', ...end } = outcome.end;
      const place = values === undefined ? 'none' : values === outcome.body ? 'body' : 'behind';
      return {
        outcome: {
          kind: 'ended',
          end,
          bodyChars: outcome.body.length,
          values: place,
          interruptsChars: interrupts.length,
        },
        body: interrupts + outcome.body + (place === 'behind' ? values : ''),
      };
    }
    case 'handed-back':
      return { outcome, body: '' };
    case 'lost':
      return { outcome: { kind: 'lost', message: shortMessage(errorText(outcome.error)) }, body: '' };
    default:
      return outcome satisfies never;
  }
}

/** @throws Error for an unreadable outcome, with its contents */
export function parseOutcome(outcome: WireOutcome, text: string): HostOutcome {
  const trouble = troubleOfOutcome(outcome, text.length);
  if (trouble !== undefined) throw new Error(`its outcome has ${trouble}`);
  switch (outcome.kind) {
    case 'ended': {
      const { bodyChars, interruptsChars, values: place } = outcome;
      const bodyEnd = interruptsChars + bodyChars;
      const body = text.slice(interruptsChars, bodyEnd);
      const end: RunEnd = {
        ...outcome.end,
        ...(interruptsChars > 0 && { interrupts: text.slice(0, interruptsChars) }),
        ...(place !== 'none' && { values: place === 'body' ? body : text.slice(bodyEnd) }),
      };
      return { kind: 'ended', body, end };
    }
    case 'handed-back':
      return outcome;
    case 'lost':
      return { kind: 'lost', error: new Error(outcome.message) };
    default:
      return outcome satisfies never;
  }
}
