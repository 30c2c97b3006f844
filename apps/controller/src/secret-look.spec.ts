import { untilSecretLook } from './paced-look.js';

describe('untilSecretLook', () => {
  it.each([
    ['never where no Secret is named', undefined, undefined, undefined],
    ['every minute at one that exists', { name: 's' }, {}, 60_000],
    ['after two seconds at one that does not exist', { name: 's' }, undefined, 2_000],
  ])('looks %s', (_, reference, secret, expected) => {
    expect(untilSecretLook(reference, secret)).toBe(expected);
  });
});
