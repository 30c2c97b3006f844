import { describe, expect, it } from '@jest/globals';
import { entityTag, IfMatch } from './if-match.js';

describe('If-Match', () => {
  it.each([
    ['the present tag', entityTag(3)],
    ['one of several', `"g1", ${entityTag(3)}`],
    ['whatever there is', ' * '],
  ])('accepts %s', (_, header) => {
    expect(() => IfMatch.parse(header)?.require(3)).not.toThrow();
  });

  it.each([
    ['a former tag', entityTag(2)],
    ['a weak tag, even of the present version', `W/${entityTag(3)}`],
  ])('refuses %s', (_, header) => {
    expect(() => IfMatch.parse(header)?.require(3)).toThrow(/present one, "g3"/);
  });

  it.each(['', 'g3', '"g3', '"a" "b"', '*, "g3"'])(
    'refuses a header that is no list of tags: %j',
    (header) => {
      expect(() => IfMatch.parse(header)).toThrow();
    },
  );

  it('asks for nothing without the header', () => {
    expect(IfMatch.parse(undefined)).toBeUndefined();
  });
});
