import { isTextDeeperThan, isValueDeeperThan } from './json-depth.js';

describe('isTextDeeperThan', () => {
  it.each([
    ['lists', '[[[]]]', true],
    ['objects', '{"a":{"b":{}}}', true],
    ['a text as deep as the limit', '[{"a":1},[2],[3]]', false],
    ['brackets inside strings', '["[[[", "\\"[[[", "\\\\", "]"]', false],
    ['brackets after a string that ends with a backslash', '["\\\\",[[]]]', true],
    ['a string without an end', '["[[[[[[', false],
  ])('measures %s', (_title, json, expected) => {
    expect(isTextDeeperThan(json, 2)).toBe(expected);
  });
});

describe('isValueDeeperThan', () => {
  it.each([
    ['lists', [[[]]], true],
    ['objects', { a: { b: {} } }, true],
    ['a value as deep as the limit', [{ a: 1 }, [2], [3]], false],
    ['a scalar', 'text', false],
  ])('measures %s', (_title, value, expected) => {
    expect(isValueDeeperThan(value, 2)).toBe(expected);
  });

  it('measures a value that recursion could not', () => {
    let value: unknown = 0;
    for (let depth = 0; depth < 200_000; depth++) value = [value];
    expect(isValueDeeperThan(value, 500)).toBe(true);
  });
});
