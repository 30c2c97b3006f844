import { describe, expect, it } from '@jest/globals';
import { questionText } from '#lib/conversation';
import { fillForm } from './chat-command.js';

/** Answers of a person in their order; afterwards the input has ended. */
async function answer(value: unknown, ...lines: readonly string[]): Promise<unknown> {
  const rest = [...lines];
  return await fillForm(
    value,
    async () => rest.shift(),
    () => undefined,
  );
}

const ACTIONS = [
  { name: 'send', args: { to: 'ann' } },
  { name: 'pay', args: { sum: 3 }, description: 'Pays a bill' },
];

describe('fillForm', () => {
  it.each<[string, unknown, readonly string[], unknown]>([
    ['a line of text', 'Send it?', ['yes'], 'yes'],
    ['a boolean', 'Send it?', ['true'], true],
    ['an object in JSON', { question: 'Which?' }, ['{"id": 1}'], { id: 1 }],
    ['a number as text, as a person typed it', 'How many?', ['42'], '42'],
    ['nothing when the input ends', 'Send it?', [], undefined],
    [
      'a decision on each call of a tool',
      { action_requests: ACTIONS },
      ['a', 'what?', 'r', 'too much'],
      { decisions: [{ type: 'approve' }, { type: 'reject', message: 'too much' }] },
    ],
    [
      'other arguments of a call, in the words of TypeScript',
      { actionRequests: ACTIONS.slice(0, 1) },
      ['edit', 'no json', 'e', '{"to": "bob"}'],
      { decisions: [{ type: 'edit', editedAction: { name: 'send', args: { to: 'bob' } } }] },
    ],
    ['nothing when the input ends before the last decision', { action_requests: ACTIONS }, ['a'], undefined],
  ])('answers with %s', async (_what, value, lines, expected) => {
    expect(await answer(value, ...lines)).toEqual(expected);
  });
});

describe('questionText', () => {
  it.each([
    ['Send it?', 'Send it?'],
    [{ question: 'Send it?' }, 'Send it?'],
    [{ action_requests: ACTIONS }, 'send {"to":"ann"}\npay {"sum":3}\nPays a bill'],
    [{ other: 1 }, '{\n  "other": 1\n}'],
  ])('shows %j', (value, text) => {
    expect(questionText(value)).toBe(text);
  });
});
