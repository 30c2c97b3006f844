import { describe, expect, it } from '@jest/globals';
import { answerLine, askedLine } from './spoken.js';

const stored = (name: string, content: unknown) => ({
  lc: 1,
  id: ['langchain', 'messages', name],
  kwargs: { content },
});

describe('askedLine', () => {
  it.each<[string, unknown, string]>([
    ['a role', { messages: [{ role: 'user', content: 'hello\nthere' }] }, 'hello'],
    ['a type', { messages: [{ type: 'human', content: [{ type: 'text', text: 'hi' }] }] }, 'hi'],
    ['a stored object', { messages: [[stored('HumanMessage', 'hi'), stored('AIMessage', 'no')]] }, 'hi'],
    [
      'the last of several',
      {
        messages: [
          { role: 'user', content: 'a' },
          { role: 'user', content: 'b' },
        ],
      },
      'b',
    ],
    ['a question without messages', { question: ' why? ' }, 'why?'],
    ['a text inside', { input: { text: 'deep' } }, 'deep'],
    ['other values', { n: 3 }, '{"n":3}'],
    ['an answer to a question', { lg_name: 'Command', resume: 'yes' }, 'yes'],
    ['nothing', {}, ''],
    ['null', null, ''],
  ])('reads %s', (_what, inputs, line) => {
    expect(askedLine(inputs)).toBe(line);
  });
});

describe('answerLine', () => {
  it.each<[string, unknown, string]>([
    [
      'the last message with text',
      {
        messages: [
          { role: 'user', content: 'q' },
          { type: 'ai', content: 'sunny' },
          { type: 'ai', content: '' },
        ],
      },
      'sunny',
    ],
    ['a message that is the output', { output: stored('AIMessageChunk', 'word') }, 'word'],
    ['a text', { output: 'done' }, 'done'],
    [
      'a call of a tool without a result',
      {
        messages: [
          { type: 'ai', content: 'former' },
          { type: 'human', content: 'send' },
          { type: 'ai', content: '', tool_calls: [{ name: 'send' }] },
        ],
      },
      'calls send',
    ],
    ['other values', { twice: 4 }, '{"twice":4}'],
  ])('reads %s', (_what, outputs, line) => {
    expect(answerLine(outputs)).toBe(line);
  });
});
