import { describe, expect, it } from '@jest/globals';
import { sayingOf, type TalkFields } from './talk.js';

const CALLS = { id: 'a', value: { action_requests: [{ name: 'send' }, { name: 'pay' }] } };
const TEXT = { id: 'b', value: 'Sure?' };

describe('sayingOf', () => {
  it.each<[string, TalkFields, Parameters<typeof sayingOf>[1], unknown]>([
    ['a message', { text: 'hi' }, [], { text: 'hi' }],
    ['one answer', { question: ['b'], answer: ['yes'] }, [TEXT], { resume: 'yes' }],
    [
      'decisions and answers by their questions, in the order of the form',
      {
        question: ['a', 'b'],
        decision: ['reject', 'edit'],
        reason: ['too much', ''],
        args: ['{}', '{"sum": 3}'],
        answer: ['{"ok": true}'],
      },
      [CALLS, TEXT],
      {
        resume: {
          a: {
            decisions: [
              { type: 'reject', message: 'too much' },
              { type: 'edit', edited_action: { name: 'pay', args: { sum: 3 } } },
            ],
          },
          b: { ok: true },
        },
      },
    ],
  ])('reads %s', (_what, form, questions, saying) => {
    expect(sayingOf(form, questions)).toEqual(saying);
  });

  it.each<[string, TalkFields, Parameters<typeof sayingOf>[1], RegExp]>([
    ['an empty message', { text: ' ' }, [], /empty/],
    ['an answer to another question', { question: ['x'], answer: ['yes'] }, [TEXT], /something else/],
    ['a message where the agent asks', { text: 'hi' }, [TEXT], /something else/],
    ['too few decisions', { question: ['a'], decision: ['approve'] }, [CALLS], /no decision/],
    [
      'arguments that are no object',
      { question: ['a'], decision: ['edit'], args: ['3'] },
      [CALLS],
      /JSON object/,
    ],
  ])('refuses %s', (_what, form, questions, message) => {
    expect(() => sayingOf(form, questions)).toThrow(message);
  });
});
