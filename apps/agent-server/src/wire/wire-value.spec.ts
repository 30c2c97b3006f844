import { AIMessageChunk, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { errorOnWire, toWire, wireJson } from './wire-value.js';

function loop(): object {
  const made: Record<string, unknown> = {};
  made['self'] = made;
  return made;
}

describe('toWire', () => {
  it.each([
    ['plain data goes through', { a: [1, 'b', null, { c: true }] }, { a: [1, 'b', null, { c: true }] }],
    [
      'a message becomes flat',
      new HumanMessage({ content: 'hi', id: '1' }),
      { type: 'human', content: 'hi', id: '1' },
    ],
    [
      'a chunk has the type of its message',
      new AIMessageChunk('hi'),
      { type: 'ai', content: 'hi', tool_call_chunks: [] },
    ],
    [
      'names are those of the wire',
      { messages: [new ToolMessage({ content: '3', tool_call_id: 'c', name: 'sum' })] },
      { messages: [{ type: 'tool', content: '3', tool_call_id: 'c', name: 'sum' }] },
    ],
    ['an error says its name', new RangeError('too far'), { error: 'RangeError', message: 'too far' }],
    ['a map becomes an object', new Map([['a', new Set([1])]]), { a: [1] }],
    ['a big number becomes text', { n: 12n }, { n: '12' }],
  ])('%s', (_title, value, expected) => {
    expect(toWire(value)).toMatchObject(expected);
  });

  it('recognises messages of another copy of the library by their shape', () => {
    const foreign = Object.create({
      _getType: () => 'human',
      toDict: () => ({ type: 'human', data: { content: 'hi' } }),
    }) as object;
    expect(toWire({ messages: [foreign] })).toEqual({ messages: [{ type: 'human', content: 'hi' }] });
  });
});

describe('wireJson', () => {
  it('describes a value that has no JSON', () => {
    expect(JSON.parse(wireJson(loop()))).toHaveProperty('__unserializable__');
    expect(wireJson(undefined)).toBe('null');
  });
});

describe('errorOnWire', () => {
  it.each([
    ['an error', new TypeError('no'), { error: 'TypeError', message: 'no' }],
    ['text', 'no', { error: 'Error', message: 'no' }],
    ['anything else', { code: 3 }, { error: 'Error', message: '{"code":3}' }],
    ['a big number', 12n, { error: 'Error', message: '12' }],
    ['nothing', undefined, { error: 'Error', message: 'undefined' }],
    ['what goes round', loop(), { error: 'Error', message: expect.stringContaining('__unserializable__') }],
    [
      'a message that is none',
      { message: Object.create(null) as object },
      { error: 'Error', message: 'something was thrown that cannot be shown' },
    ],
  ])('shows %s', (_title, thrown, expected) => {
    expect(errorOnWire(thrown)).toEqual(expected);
  });
});
