import { describe, expect, it } from '@jest/globals';
import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { DeltaSnapshot, MemorySaver } from '@langchain/langgraph-checkpoint';
import fc from 'fast-check';
import { stateSerializer, TAG } from './state-serializer.js';

async function stored(value: unknown): Promise<unknown> {
  const [type, bytes] = await stateSerializer.dumpsTyped(value);
  return stateSerializer.loadsTyped(type, bytes);
}

/** JSON as a caller may send it, full of keys with a meaning for some serialiser. */
const hostile = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    fc.jsonValue({ maxDepth: 2 }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom('lc', 'type', 'id', 'kwargs', 'args', 'method', TAG, '__lc_escaped__', 'lg_name', 'x'),
      tie('value'),
      { maxKeys: 5 },
    ),
    fc.record({
      lc: fc.constantFrom(1, 2),
      type: fc.constantFrom('constructor', 'secret', 'not_implemented', 'undefined', 'delta_snapshot'),
      id: fc.oneof(
        fc.constant(['langchain_core', 'messages', 'HumanMessage']),
        fc.constant(['langchain_core', 'runnables', 'ensureConfig']),
        fc.constant(['RegExp']),
        fc.constant(['evil', 'x']),
        fc.constant(['LANGSMITH_API_KEY']),
      ),
      kwargs: fc.oneof(fc.constant({ content: 'x' }), tie('value')),
      args: fc.array(tie('value'), { maxLength: 2 }),
    }),
    fc.record({
      [TAG]: fc.constantFrom('undefined', 'message', 'map', 'object', 'regexp'),
      entries: tie('value'),
    }),
  ),
})).value;

describe('stateSerializer', () => {
  it('returns every JSON value as the equal JSON value', async () => {
    await fc.assert(
      fc.asyncProperty(hostile, async (value) => {
        const given: unknown = JSON.parse(JSON.stringify(value));
        const returned = await stored(given);
        expect(returned).toEqual(given);
        expect(JSON.stringify(returned)).toBe(JSON.stringify(given));
      }),
      { numRuns: 2_000 },
    );
  });

  it('keeps __proto__ as a key and changes no prototype', async () => {
    const returned = (await stored(JSON.parse('{"a":{"__proto__":{"polluted":1},"$ap":"x"}}'))) as {
      a: object;
    };
    expect(JSON.stringify(returned)).toBe('{"a":{"__proto__":{"polluted":1},"$ap":"x"}}');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it.each([
    new HumanMessage({
      content: 'a',
      id: '1',
      additional_kwargs: { x: { lc: 1, type: 'secret', id: ['K'] } },
    }),
    new AIMessage({
      content: [{ type: 'text', text: 'b' }],
      tool_calls: [{ id: 't', name: 'f', args: { lc: 2, type: 'undefined' }, type: 'tool_call' }],
      usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
      response_metadata: { model: 'm' },
    }),
    new AIMessageChunk({ content: 'c', tool_call_chunks: [{ index: 0, name: 'f', args: '{', id: 'i' }] }),
    new SystemMessage('d'),
    new ToolMessage({ content: 'e', tool_call_id: 't', status: 'error', artifact: { rows: [1] } }),
    new FunctionMessage({ content: 'f', name: 'g' }),
    new ChatMessage({ content: 'h', role: 'critic' }),
    new RemoveMessage({ id: '1' }),
  ])('makes the same message again: %#', async (message) => {
    const returned = (await stored({ messages: [message] })) as { messages: object[] };
    expect(returned.messages[0]).toBeInstanceOf(message.constructor);
    expect(JSON.stringify(returned.messages[0])).toBe(JSON.stringify(message));
  });

  it('turns a class that extends a message into the message that it extends', async () => {
    class Greeting extends HumanMessage {}
    const returned = await stored(new Greeting({ content: 'hi', id: '7' }));
    expect(returned).toBeInstanceOf(HumanMessage);
    expect(returned).toMatchObject({ content: 'hi', id: '7' });
  });

  it('makes no other class of LangChain again', async () => {
    const prompt = ChatPromptTemplate.fromMessages([['human', '{question}']]);
    const returned = await stored({ prompt });
    expect(returned).toEqual(JSON.parse(JSON.stringify({ prompt })));
  });

  it('returns the own classes of JavaScript that JSON has no text for', async () => {
    const value = {
      map: new Map<unknown, unknown>([[{ a: 1 }, new Set([1n, undefined])]]),
      bytes: new Uint8Array([0, 255, 7]),
      pattern: /a[\\/]b/giu,
      nothing: undefined,
      numbers: [Number.NaN, Number.POSITIVE_INFINITY, 1],
      delta: new DeltaSnapshot({ a: [new HumanMessage('x')] }),
    };
    expect(await stored(value)).toEqual(value);
    expect(await stored(new Error('it broke'))).toEqual(new Error('it broke'));
    expect(await stored(new Uint8Array([1, 2]))).toEqual(new Uint8Array([1, 2]));
  });

  it('cuts an object that contains itself where it begins again', async () => {
    const node: Record<string, unknown> = { name: 'n', tags: new Map([['a', 1]]) };
    node.self = { again: node };
    expect(await stored(node)).toEqual({
      name: 'n',
      tags: new Map([['a', 1]]),
      self: { again: '[Circular]' },
    });
  });

  it('stores a function as no value', async () => {
    expect(await stored(() => 1)).toBeUndefined();
    expect(await stored({ run: () => 1, kept: 2 })).toEqual({ kept: 2 });
  });

  describe('of values that LangGraph wrote', () => {
    const loads = (value: unknown) => stateSerializer.loadsTyped('json', JSON.stringify(value));

    it('returns messages and the own classes of JavaScript', async () => {
      const value = { messages: [new HumanMessage('hi')], seen: new Set(['a']), at: /x/g, none: undefined };
      const [type, bytes] = await new MemorySaver().serde.dumpsTyped(value);
      expect(await stateSerializer.loadsTyped(type, bytes)).toEqual(value);
    });

    it.each([
      [{ lc: 1, type: 'constructor', id: ['evil', 'x'], kwargs: {} }],
      [
        {
          lc: 1,
          type: 'constructor',
          id: ['langchain_core', 'document_loaders', 'langsmith', 'LangSmithLoader'],
          kwargs: {},
        },
      ],
      [{ lc: 1, type: 'constructor', id: ['langchain_core', 'runnables', 'ensureConfig'], kwargs: {} }],
      [{ lc: 1, type: 'secret', id: ['PATH'] }],
      [{ lc: 1, type: 'not_implemented', id: ['x'] }],
      [{ lc: 2, type: 'constructor', id: ['RegExp'], method: null, args: ['(', ''] }],
      [{ lc: 1, type: 'constructor', id: ['langchain_core', 'messages', 'BaseMessage'], kwargs: {} }],
    ])('leaves %j as it is', async (value) => {
      expect(await loads({ deep: [value] })).toEqual({ deep: [value] });
    });
  });
});
