import { errorText } from '#lib/errors';
import type { Outcome } from './execution.js';
import type { WireOutcome } from './messages.js';

type HostOutcome = Exclude<Outcome, { kind: 'crashed' }>;

/** An outcome as a message: large texts stand in the body, once. */
export function renderOutcome(outcome: HostOutcome): {
  readonly outcome: WireOutcome;
  readonly body: string;
} {
  switch (outcome.kind) {
    case 'ended': {
      const { values, ...end } = outcome.end;
      const place = values === undefined ? 'none' : values === outcome.body ? 'body' : 'behind';
      return {
        outcome: { kind: 'ended', end, bodyChars: outcome.body.length, values: place },
        body: place === 'behind' ? outcome.body + values : outcome.body,
      };
    }
    case 'handed-back':
      return { outcome, body: '' };
    case 'lost':
      return { outcome: { kind: 'lost', message: errorText(outcome.error) }, body: '' };
    default:
      return outcome satisfies never;
  }
}

export function parseOutcome(outcome: WireOutcome, text: string): HostOutcome {
  switch (outcome.kind) {
    case 'ended': {
      const body = text.slice(0, outcome.bodyChars);
      const values = outcome.values === 'body' ? body : text.slice(outcome.bodyChars);
      const end = outcome.values === 'none' ? outcome.end : { ...outcome.end, values };
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
