import { approximateNumber, formatQuantity, parseQuantity } from './quantity.js';

describe('approximateNumber', () => {
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
  ])('reads %j as %d', (text, value) => expect(approximateNumber(text)).toBe(value));
});

describe('formatQuantity', () => {
  it.each([
    ['1000m', '1'],
    ['0.5', '500m'],
    ['1024Ki', '1Mi'],
    ['1500Mi', '1500Mi'],
    ['1000e3', '1e6'],
  ])('writes %s as %s', (given, canonical) => {
    const quantity = parseQuantity(given);
    expect(quantity && formatQuantity(quantity)).toBe(canonical);
  });
});
