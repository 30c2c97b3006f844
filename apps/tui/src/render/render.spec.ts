import { bar, bytes, count } from '#lib/command-line';
import { age, fit, sparkline } from './fit.js';

describe('bar', () => {
  it.each([
    ['nothing', 0, '░░░░'],
    ['all', 1, '████'],
    ['half', 0.5, '██░░'],
    ['an eighth of a column', 1 / 32, '▏░░░'],
    ['more than all', 7, '████'],
    ['less than nothing', -1, '░░░░'],
    ['no number', NaN, '░░░░'],
  ])('shows %s', (_name, fraction, expected) => {
    expect(bar(fraction, 4)).toBe(expected);
  });
});

describe('sparkline', () => {
  it('scales to the highest value', () => expect(sparkline([0, 5, 10], 10)).toBe('▁▄█'));
  it('keeps the last values', () => expect(sparkline([9, 1, 1, 1], 3)).toBe('███'));
  it('draws a flat line when all values are zero', () => expect(sparkline([0, 0], 3)).toBe('▁▁'));
  it('draws nothing without values', () => expect(sparkline([], 3)).toBe(''));
});

describe('quantities', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [12_345, '12.3k'],
    [123_456, '123k'],
    [999_600, '1.0M'],
  ])('counts %d', (value, expected) => expect(count(value)).toBe(expected));
  it('uses decimal bytes', () => expect(bytes(12_345_678)).toBe('12.3 MB'));
  it.each([
    ['2026-01-01T00:00:00Z', '42s'],
    ['2025-12-31T23:50:42Z', '10m'],
    ['2025-12-31T00:00:00Z', '24h'],
    ['2025-12-20T00:00:00Z', '12d'],
  ])('shows the age of %s', (from, expected) =>
    expect(age(from, new Date('2026-01-01T00:00:42Z'))).toBe(expected),
  );
});

describe('fit', () => {
  it('pads', () => expect(fit('ab', 4)).toBe('ab  '));
  it('shows what a terminal would obey', () => expect(fit('a\u001b[2J\nb', 12)).toBe('a\\u001b[2J b'));
  it('cuts with an ellipsis', () => expect(fit('abcdef', 4)).toBe('abc…'));
});
