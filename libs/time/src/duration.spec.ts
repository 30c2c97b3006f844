import { parseDuration } from './duration.js';

describe('parseDuration', () => {
  it.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
  ])('reads %s', (text, expected) => expect(parseDuration(text)).toBe(expected));

  it.each(['', '10', 's', '-1s', '1 s', '1w', 'constructor'])('refuses %j', (text) => {
    expect(() => parseDuration(text)).toThrow('must look like 30s');
  });
});
