import fc from 'fast-check';
import { formatQuantity, parseQuantity } from './quantity.js';

describe('parseQuantity', () => {
  it.each([
    ['500m', 0.5],
    ['2', 2],
    ['1.5', 1.5],
    ['1Gi', 1024 ** 3],
    ['100k', 100_000],
    ['1e3', 1000],
    ['.5', 0.5],
    ['12E', 12e18],
    ['-2Ki', -2048],
    ['ten', undefined],
    ['1 Gi', undefined],
    ['', undefined],
  ])('reads %j as %d', (text, value) => {
    const quantity = parseQuantity(text);
    expect(quantity && Number(quantity.nano) / 1e9).toBe(value);
  });
});

describe('quantity', () => {
  it.each([
    ['1000m', '1'],
    ['1.5', '1500m'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Gi', '512Mi'],
    ['1e3', '1e3'],
    ['100000', '100k'],
    ['1234', '1234'],
    ['0', '0'],
    ['-2', '-2'],
    ['3n', '3n'],
  ])('formats %s as %s', (given, expected) => {
    const quantity = parseQuantity(given);
    expect(quantity && formatQuantity(quantity)).toBe(expected);
  });

  it.each(['', 'x', '1 Gi', '1Zi', '--1', '1e'])('refuses %j', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });

  it('formats to a text of the same value', () => {
    const text = fc
      .tuple(fc.nat(1_000_000), fc.constantFrom('', 'm', 'k', 'M', 'Ki', 'Mi', 'Gi', 'u', 'e2'))
      .map(([number, suffix]) => `${number}${suffix}`);
    fc.assert(
      fc.property(text, (given) => {
        const quantity = parseQuantity(given);
        if (quantity === undefined) throw new Error(given);
        expect(parseQuantity(formatQuantity(quantity))?.nano).toBe(quantity.nano);
      }),
    );
  });
});
