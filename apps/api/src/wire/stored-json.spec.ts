import { describe, expect, it, jest } from '@jest/globals';
import { jsonListOf, jsonWith } from './stored-json.js';

describe('stored JSON in an answer', () => {
  it('keeps every byte of members that are stored as JSON', () => {
    const text = jsonWith({ id: 'x' }, { extra: '{"n": 1.50, "m":12345678901234567890}', none: undefined });
    expect(text).toBe('{"id":"x","extra":{"n": 1.50, "m":12345678901234567890},"none":null}');
  });

  it('stays unparsed, and lets others be served between two items', async () => {
    const parsed = jest.spyOn(JSON, 'parse');
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const text = await jsonListOf([1, 2, 3, 4], (n) => jsonWith({ n }, { stored: `{"of":${n}}` }));
    isOver = true;
    expect(parsed).not.toHaveBeenCalled();
    parsed.mockRestore();
    expect(turns).toBeGreaterThanOrEqual(3);
    expect(JSON.parse(text)).toEqual([1, 2, 3, 4].map((n) => ({ n, stored: { of: n } })));
  });

  it('makes an empty list of no items', async () => {
    expect(await jsonListOf([], () => '')).toBe('[]');
  });
});
