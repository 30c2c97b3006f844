import { formatInstant } from '#lib/time';
import { parseWireTime } from './member-reader.js';

describe('a time of the wire', () => {
  it.each([
    ['2026-11-20T21:59:04.635001', '2026-11-20T21:59:04.635001Z'],
    ['2026-11-20', '2026-11-20T00:00:00.000000Z'],
    [1795213070031, '2026-11-20T22:17:50.031000Z'],
    [1795213070031.25, '2026-11-20T22:17:50.031250Z'],
  ])('reads the time %j', (value, expected) => {
    const instant = parseWireTime(value);
    expect(instant === undefined ? undefined : formatInstant(instant)).toBe(expected);
  });

  it.each([['yesterday'], [''], [Number.NaN], [1e300], [-9e14], [null], [true], [{}]])(
    'refuses the time %j',
    (value) => {
      expect(parseWireTime(value)).toBeUndefined();
    },
  );
});
