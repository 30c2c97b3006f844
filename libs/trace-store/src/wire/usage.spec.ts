import { jest } from '@jest/globals';
import { atOnce } from '#lib/json';
import { formatInstant } from '#lib/time';
import { firstTokenTime, usageInOutputs } from './usage.js';

const event = (name: string, n: number): object => ({
  name,
  time: new Date(Date.UTC(2026, 0, 1) + n).toISOString(),
});
const read = (events: readonly object[]): string | undefined => {
  const time = atOnce(firstTokenTime(Buffer.from(JSON.stringify(events))));
  return time === undefined ? undefined : formatInstant(time);
};
const many = (count: number): readonly object[] => Array.from({ length: count }, (_, n) => event('other', n));

describe('the time of the first token', () => {
  it('belongs to the first event of this name', () => {
    expect(read([event('start', 1), event('new_token', 2), event('new_token', 3)])).toBe(
      '2026-01-01T00:00:00.002000Z',
    );
    expect(read(many(3))).toBeUndefined();
  });

  it('comes from the first thousand events, and is the only one that is parsed', () => {
    const parse = jest.spyOn(JSON, 'parse');
    try {
      expect(read([...many(999), event('new_token', 1)])).toBe('2026-01-01T00:00:00.001000Z');
      expect(parse).toHaveBeenCalledTimes(1001);
      expect(read([...many(1500), event('new_token', 1)])).toBeUndefined();
      expect(parse).toHaveBeenCalledTimes(2001);
    } finally {
      parse.mockRestore();
    }
  });
});

describe('the usage in outputs', () => {
  const usage = (outputs: object) => atOnce(usageInOutputs(Buffer.from(JSON.stringify(outputs))));
  const message = (input_tokens: number, output_tokens: number) => ({
    text: '"usage_metadata"',
    message: { kwargs: { usage_metadata: { input_tokens, output_tokens } } },
  });

  it('stays where numbers are exact, and says that a sum would not', () => {
    const most = Number.MAX_SAFE_INTEGER;
    expect(usage({ generations: [[message(most, most), message(most, 1)]] })).toMatchObject({
      promptTokens: most,
      completionTokens: most,
      totalTokens: most,
      isClamped: true,
    });
    const stated = { input_tokens: most, output_tokens: most, total_tokens: 5 };
    expect(usage({ usage: stated })).not.toHaveProperty('isClamped');
    expect(usage({ usage: { ...stated, total_tokens: undefined } })).toMatchObject({
      totalTokens: most,
      isClamped: true,
    });
  });

  it('comes from the messages of all generations', () => {
    expect(usage({ generations: [[message(3, 4), { text: 'x' }], [message(10, 20)]] })).toMatchObject({
      promptTokens: 13,
      completionTokens: 24,
      totalTokens: 37,
    });
    expect(usage({ generations: [[{ text: '"usage_metadata"' }]] })).toBeUndefined();
    expect(usage({ generations: { usage_metadata: { input_tokens: 1 } } })).toBeUndefined();
  });

  it('may have kinds of tokens with any name', () => {
    const kinds = JSON.parse('{"constructor":1,"toString":2,"__proto__":3,"cached_tokens":4}');
    const { details } = usage({ usage_metadata: { input_tokens: 9, input_token_details: kinds } }) ?? {};
    expect(JSON.stringify(details?.promptTokens)).toBe(
      '{"constructor":1,"toString":2,"__proto__":3,"cache_read":4}',
    );
  });

  it('comes from what a model answers itself', () => {
    const own = { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 };
    expect(usage({ choices: [], usage: own })).toMatchObject({ promptTokens: 5, totalTokens: 11 });
    expect(usage({ usage: 'little' })).toBeUndefined();
    expect(usage({ usage: own, usage_metadata: { input_tokens: 1 } })).toMatchObject({ totalTokens: 1 });
  });
});

describe('the tokens of one call', () => {
  const WHOLE = [1000, 10, 1010];
  const whole = { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 };
  const camel = { promptTokens: 1000, completionTokens: 10, totalTokens: 1010 };
  const inclusive = { input_tokens: 1000, output_tokens: 10, total_tokens: 1010 };
  const aiSdk = { inputTokens: 1000, outputTokens: 10, totalTokens: 1010 };
  const apart = { cache_read_input_tokens: 900, cache_creation_input_tokens: 50 };
  const cached = { cache_read: 900, cache_creation: 50 };
  const gemini = { prompt_token_count: 1000, candidates_token_count: 4, thoughts_token_count: 6 };

  const senders: readonly (readonly [string, object, readonly number[], object?])[] = [
    [
      'OpenAI, chat',
      { usage: { ...whole, prompt_tokens_details: { cached_tokens: 900 } } },
      WHOLE,
      { cache_read: 900 },
    ],
    [
      'OpenAI, responses',
      { usage: { ...inclusive, input_tokens_details: { cached_tokens: 900 } } },
      WHOLE,
      { cache_read: 900 },
    ],
    [
      'LiteLLM',
      { usage: { ...whole, ...apart, prompt_tokens_details: { cached_tokens: 900 } } },
      WHOLE,
      { cache_read: 900, cache_creation: 50 },
    ],
    ['a proxy that states both inputs', { usage: { ...whole, input_tokens: 1000, ...apart } }, WHOLE, cached],
    ['Anthropic', { usage: { input_tokens: 50, output_tokens: 10, ...apart } }, WHOLE, cached],
    [
      'Anthropic, with a total',
      { usage: { input_tokens: 50, output_tokens: 10, total_tokens: 1010, ...apart } },
      WHOLE,
      cached,
    ],
    [
      'Anthropic, with an input that includes the cache',
      { usage: { ...inclusive, ...apart } },
      WHOLE,
      cached,
    ],
    ['LangChain', { usage_metadata: { ...inclusive, input_token_details: cached } }, WHOLE, cached],
    [
      'LangChain, without the cache',
      {
        usage_metadata: {
          input_tokens: 50,
          output_tokens: 10,
          total_tokens: 60,
          input_token_details: cached,
        },
      },
      WHOLE,
      cached,
    ],
    [
      'Gemini',
      { usage_metadata: { ...gemini, total_token_count: 1010, cached_content_token_count: 900 } },
      WHOLE,
      { cache_read: 900 },
    ],
    [
      'Gemini in JavaScript',
      { usageMetadata: { promptTokenCount: 1000, candidatesTokenCount: 10, totalTokenCount: 1010 } },
      WHOLE,
    ],
    ['Bedrock', { usage: aiSdk }, WHOLE],
    [
      'Bedrock, with a cache',
      { usage: { ...aiSdk, inputTokens: 50, cacheReadInputTokens: 900, cacheWriteInputTokens: 50 } },
      WHOLE,
      cached,
    ],
    ['the AI SDK', { usage: { ...aiSdk, cachedInputTokens: 900 } }, WHOLE, { cache_read: 900 }],
    [
      'the AI SDK, version 6',
      { usage: { ...aiSdk, inputTokenDetails: { cacheReadTokens: 900, cacheWriteTokens: 50 } } },
      WHOLE,
      cached,
    ],
    [
      'models of the AI SDK, version 6',
      {
        usage: {
          inputTokens: { total: 1000, noCache: 50, cacheRead: 900, cacheWrite: 50 },
          outputTokens: { total: 10 },
        },
      },
      WHOLE,
      { ...cached, no_cache: 50 },
    ],
    ['LangChain, older, in JavaScript', { llmOutput: { tokenUsage: camel }, generations: [] }, WHOLE],
    ['LangChain, older', { llm_output: { token_usage: whole } }, WHOLE],
    [
      'metadata of a response',
      { generations: [[{ message: { kwargs: { response_metadata: { token_usage: whole } } } }]] },
      WHOLE,
    ],
    [
      'metadata of a response in JavaScript',
      { generations: [[{ message: { kwargs: { response_metadata: { tokenUsage: camel } } } }]] },
      WHOLE,
    ],
    ['a returned message', { output: { type: 'ai', usage_metadata: inclusive } }, WHOLE],
    ['a serialized message', { output: { lc: 1, kwargs: { usage_metadata: inclusive } } }, WHOLE],
    ['outputs that are a message', { content: 'x', response_metadata: { usage: inclusive } }, WHOLE],
    [
      'reasoning beside the output',
      { usage: { ...whole, total_tokens: 1030, completion_tokens_details: { reasoning_tokens: 20 } } },
      [1000, 30, 1030],
    ],
    [
      'reasoning above the output',
      { usage: { ...whole, completion_tokens_details: { reasoning_tokens: 20 } } },
      [1000, 30, 1030],
    ],
  ];

  it.each(senders.map(([sender, outputs, counts, kinds]) => ({ sender, outputs, counts, kinds })))(
    'counts tokens once for $sender',
    ({ outputs, counts, kinds }) => {
      const [promptTokens, completionTokens, totalTokens] = counts;
      const found = atOnce(usageInOutputs(Buffer.from(JSON.stringify(outputs))));
      expect(found).toMatchObject({ promptTokens, completionTokens, totalTokens });
      expect(found?.details?.promptTokens).toEqual(kinds);
      expect(found?.unread).toBeUndefined();
    },
  );

  it.each<readonly [string, object, readonly string[] | undefined]>([
    ['negative', { usage: { ...whole, completion_tokens: -1 } }, ['usage.completion_tokens']],
    [
      'negative of a kind',
      { usage: { ...whole, prompt_tokens_details: { cached_tokens: -3, audio_tokens: 1 } } },
      ['usage.prompt_tokens_details.cached_tokens'],
    ],
    [
      'beyond a column, as a cost of a kind',
      { usage_metadata: { input_tokens: 5, input_cost_details: { audio: 1e9 } } },
      ['usage_metadata.input_cost_details.audio'],
    ],
    ['texts', { usage_metadata: { input_tokens: '5' } }, ['usage_metadata.input_tokens']],
    ['of another shape', { usage: { token_units: 7 } }, ['usage']],
    ['of another shape in a message', { output: { usage_metadata: { words: 7 } } }, ['usage_metadata']],
    ['no tokens', { usage: { cpu: 7 } }, undefined],
    ['unknown', { usage_metadata: { input_tokens: null } }, undefined],
  ])('names tokens that are %s, or leaves them out', (_shape, outputs, unread) => {
    expect(atOnce(usageInOutputs(Buffer.from(JSON.stringify(outputs))))?.unread).toEqual(unread);
  });
});
