import fc from 'fast-check';
import { dayOf, formatInstant, instantOf, MICROS_PER_DAY, parseInstant } from './instant.js';

const anyInstant = fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n });

function printed(text: string, zone: 'required' | 'optional'): string | undefined {
  const instant = parseInstant(text, { zone });
  return instant === undefined ? undefined : formatInstant(instant);
}

describe('an instant', () => {
  it.each([
    ['2026-11-20T21:59:04.635001Z', '2026-11-20T21:59:04.635001Z'],
    ['2026-11-20t21:59:04.635001z', '2026-11-20T21:59:04.635001Z'],
    ['2026-11-20T21:59:04.635001+00:00', '2026-11-20T21:59:04.635001Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000000Z'],
    ['2026-12-31 23:59:59.000001+00', '2026-12-31T23:59:59.000001Z'],
    ['2026-01-01 00:00:00.10+00', '2026-01-01T00:00:00.100000Z'],
    ['2026-11-20 21:59:04.5+00', '2026-11-20T21:59:04.500000Z'],
    ['2026-11-20T23:59:04.1234567+02:00', '2026-11-20T21:59:04.123456Z'],
    ['2026-11-20T00:10:00-0130', '2026-11-20T01:40:00.000000Z'],
    ['2026-08-18T23:59:59.9999999Z', '2026-08-18T23:59:59.999999Z'],
    ['1969-12-31T23:59:59.5Z', '1969-12-31T23:59:59.500000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000000Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
  ])('reads %s, whether or not a zone is required', (text, expected) => {
    expect([printed(text, 'required'), printed(text, 'optional')]).toEqual([expected, expected]);
  });

  it.each([
    ['2026-11-20T21:59:04', '2026-11-20T21:59:04.000000Z'],
    ['2026-11-20 21:59', '2026-11-20T21:59:00.000000Z'],
    ['2026-11-20', '2026-11-20T00:00:00.000000Z'],
  ])('reads %s as UTC, unless a zone is required', (text, expected) => {
    expect([printed(text, 'required'), printed(text, 'optional')]).toEqual([undefined, expected]);
  });

  it.each([
    '',
    'now',
    'yesterday',
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-04-31 00:00:00+00',
    '2026-00-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-11-20T21:59:60Z',
    '2026-11-20T2a:59:04Z',
    '2026-11-20T25:00:00Z',
    '2026-11-20T21:61:00Z',
    '2026-11-20T21:59:04+24:00',
    '9999-12-31T23:59:59-01:00',
    '0001-01-01T00:00:00+01:00',
  ])('refuses %j', (text) => {
    expect([printed(text, 'required'), printed(text, 'optional')]).toEqual([undefined, undefined]);
  });

  it('reads an instant back from both of its printed forms', () => {
    fc.assert(
      fc.property(anyInstant, fc.constantFrom('always' as const, 'if-any' as const), (instant, fraction) => {
        expect(parseInstant(formatInstant(instant, fraction), { zone: 'required' })).toBe(instant);
      }),
    );
  });

  it('prints no fraction of zero where asked to omit it', () => {
    const whole = instantOf(new Date('2026-08-19T00:00:00Z'));
    expect(formatInstant(whole)).toBe('2026-08-19T00:00:00.000000Z');
    expect(formatInstant(whole, 'if-any')).toBe('2026-08-19T00:00:00Z');
    expect(formatInstant(whole + 1n, 'if-any')).toBe('2026-08-19T00:00:00.000001Z');
  });

  it('belongs to the day that began at or before it', () => {
    fc.assert(
      fc.property(anyInstant, (instant) => {
        const day = dayOf(instant);
        expect(day <= instant && instant < day + MICROS_PER_DAY).toBe(true);
        expect(formatInstant(day)).toContain('T00:00:00.000000Z');
      }),
    );
  });
});
