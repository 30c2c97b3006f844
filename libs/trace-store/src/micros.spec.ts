import fc from 'fast-check';
import { microsToIso, parseMicros } from './micros.js';

describe('times of the wire', () => {
  it.each([
    ['2026-11-20T21:59:04.635001Z', '2026-11-20T21:59:04.635001Z'],
    ['2026-11-20T21:59:04.635001+00:00', '2026-11-20T21:59:04.635001Z'],
    ['2026-11-20T21:59:04', '2026-11-20T21:59:04.000000Z'],
    ['2026-11-20 21:59:04.5+00', '2026-11-20T21:59:04.500000Z'],
    ['2026-11-20T23:59:04.1234567+02:00', '2026-11-20T21:59:04.123456Z'],
    ['2026-11-20T00:10:00-0130', '2026-11-20T01:40:00.000000Z'],
    ['2026-11-20', '2026-11-20T00:00:00.000000Z'],
    ['1969-12-31T23:59:59.999999Z', '1969-12-31T23:59:59.999999Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000000Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
    [1795213070031, '2026-11-20T22:17:50.031000Z'],
    [1795213070031.25, '2026-11-20T22:17:50.031250Z'],
  ])('reads %j', (value, expected) => {
    const micros = parseMicros(value);
    expect(micros === undefined ? undefined : microsToIso(micros)).toBe(expected);
  });

  it.each([
    ['2026-02-30'],
    ['2026-13-01'],
    ['2026-11-20T25:00:00Z'],
    ['2026-11-20T21:61:00Z'],
    ['yesterday'],
    [''],
    ['9999-12-31T23:59:59-01:00'],
    [Number.NaN],
    [1e300],
    [null],
    [true],
    [{}],
  ])('refuses %j', (value) => {
    expect(parseMicros(value)).toBeUndefined();
  });

  it('reads what it writes', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n }), (micros) => {
        expect(parseMicros(microsToIso(micros))).toBe(micros);
      }),
    );
  });
});
