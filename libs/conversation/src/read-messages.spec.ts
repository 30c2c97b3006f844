import { describe, expect, it } from '@jest/globals';
import { readMessages } from './read-messages.js';

const NONE = { name: undefined, calls: [], parts: [] };

describe('readMessages', () => {
  it.each<[string, unknown, readonly object[]]>([
    [
      'a state of LangGraph',
      {
        messages: [
          { type: 'human', content: 'hi' },
          { type: 'ai', content: '', tool_calls: [{ id: '1', name: 'add', args: { a: 1 } }] },
          { type: 'tool', name: 'add', content: '2', tool_call_id: '1' },
        ],
      },
      [
        { ...NONE, by: 'user', text: 'hi' },
        { ...NONE, by: 'agent', text: '', calls: [{ name: 'add', args: { a: 1 } }] },
        { ...NONE, by: 'tool', name: 'add', text: '2' },
      ],
    ],
    [
      'a call of a model, with a list in a list of stored objects',
      {
        messages: [
          [{ lc: 1, id: ['langchain_core', 'messages', 'SystemMessage'], kwargs: { content: 'be brief' } }],
        ],
      },
      [{ ...NONE, by: 'system', text: 'be brief' }],
    ],
    [
      'generations',
      { generations: [[{ text: 'x', message: { id: ['AIMessageChunk'], kwargs: { content: 'x' } } }]] },
      [{ ...NONE, by: 'agent', text: 'x' }],
    ],
    [
      'choices of OpenAI, whose arguments are text',
      {
        choices: [
          {
            message: {
              role: 'assistant',
              content: null,
              tool_calls: [{ type: 'function', function: { name: 'f', arguments: '{}' } }],
            },
          },
        ],
      },
      [{ ...NONE, by: 'agent', text: '', calls: [{ name: 'f', args: '{}' }] }],
    ],
    ['one message', { role: 'assistant', content: 'yes' }, [{ ...NONE, by: 'agent', text: 'yes' }]],
    [
      'blocks, of which some are no text',
      {
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'see ' }, 'this', { type: 'image_url' }] },
        ],
      },
      [{ ...NONE, by: 'user', text: 'see this', parts: ['image_url'] }],
    ],
    ['values without messages', { content: 'x', n: 1 }, []],
    ['a text', 'x', []],
    ['null', null, []],
    ['a role that is a name of every object', { role: 'constructor', content: 'x' }, []],
  ])('reads %s', (_what, values, messages) => {
    expect(readMessages(values)).toEqual(messages);
  });
});
