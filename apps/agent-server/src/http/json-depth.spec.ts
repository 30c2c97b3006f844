import { isDeeperThan } from './json-depth.js';

describe('isDeeperThan', () => {
  it.each([
    ['lists', '[[[]]]', true],
    ['objects', '{"a":{"b":{}}}', true],
    ['as deep as allowed', '[{"a":1},[2],[3]]', false],
    ['brackets in text', '["[[[", "\\"[[[", "\\\\", "]"]', false],
    ['brackets after text that ends with a backslash', '["\\\\",[[]]]', true],
    ['text without an end', '["[[[[[[', false],
  ])('sees %s', (_title, json, expected) => {
    expect(isDeeperThan(json, 2)).toBe(expected);
  });
});
