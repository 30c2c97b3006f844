import { untilSecretLook } from './secret-look.js';

describe('untilSecretLook', () => {
  it.each([
    ['never where no Secret is named', undefined, undefined, undefined],
    ['every minute at one that is there', { name: 's' }, {}, 60_000],
    ['soon at one that is missing', { name: 's' }, undefined, 2_000],
  ])('looks %s', (_, reference, secret, expected) => {
    expect(untilSecretLook(reference, secret)).toBe(expected);
  });
});
