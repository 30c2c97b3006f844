import { errorText } from '#lib/errors';
import type { RunEnd } from '../store/row/run-end.js';
import { troubleOfOutcome } from './check-outcome.js';
import type { Outcome } from './execution.js';
import type { WireOutcome } from './messages.js';
import { shortMessage } from './short-message.js';

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
