import { jsonbText } from './json-text.js';

describe('jsonbText', () => {
  it.each([
    ['shows where NUL characters were', 'a\u0000b', '"a\\ufffdb"'],
    ['leaves a backslash before u0000 in', 'a\\u0000b', '"a\\\\u0000b"'],
    ['sees a NUL after a backslash', 'a\\\u0000b', '"a\\\\\\ufffdb"'],
    ['knows that undefined is null', undefined, 'null'],
  ])('%s', (_title, value, expected) => {
    expect(jsonbText(value)).toBe(expected);
  });
});
