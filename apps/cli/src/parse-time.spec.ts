import { parseTime } from './parse-count.js';

describe('a time of an option', () => {
  it.each([
    ['2026-05-01T00:00:00.000001Z', '2026-05-01T00:00:00.000001Z'],
    ['2026-05-01T10:00', '2026-05-01T10:00:00Z'],
    ['2026-05-01 10:00:00', '2026-05-01T10:00:00Z'],
    ['2026-05-01', '2026-05-01T00:00:00Z'],
    ['2026-05-01T10:00:00+02:00', '2026-05-01T08:00:00Z'],
    ['2026-05-01T10:00:00.500Z', '2026-05-01T10:00:00.500000Z'],
  ])('reads %s as %s', (text, expected) => {
    expect(parseTime(text)).toBe(expected);
  });

  it.each(['yesterday', '2026-05-32', '2026-02-30T00:00:00Z', '2026-05-01T', '05/01/2026', ''])(
    'refuses %j',
    (text) => {
      expect(() => parseTime(text)).toThrow('must look like 2026-05-01T00:00:00Z');
    },
  );
});
