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
      ...{ promptTokens: most, completionTokens: most, totalTokens: most, isClamped: true },
    });
    const stated = { input_tokens: most, output_tokens: most, total_tokens: 5 };
    expect(usage({ usage: stated })).not.toHaveProperty('isClamped');
    expect(usage({ usage: { ...stated, total_tokens: undefined } })).toMatchObject({
      ...{ totalTokens: most, isClamped: true },
    });
  });

  it('comes from the messages of all generations', () => {
    expect(usage({ generations: [[message(3, 4), { text: 'x' }], [message(10, 20)]] })).toMatchObject({
      ...{ promptTokens: 13, completionTokens: 24, totalTokens: 37 },
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
