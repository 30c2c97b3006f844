import { describe, expect, it } from '@jest/globals';
import { PublicError } from '#lib/errors';
import { FakeClock } from '#lib/testing';
import { sourceOf, TokenBuckets, WrongKeys } from './wrong-keys.js';

const WRONG = new PublicError('unauthenticated', 'no');
const open = (clock: FakeClock) => new WrongKeys({ perMinute: 60, chancesPerSecond: 2, clock });

/** Error that a wrong key is answered with. */
function guess(keys: WrongKeys, address: string, key: string): PublicError {
  try {
    return keys.begin(address, key).wrong(WRONG);
  } catch (error) {
    if (error instanceof PublicError) return error;
    throw error;
  }
}

function codes(keys: WrongKeys, count: number, from = '192.0.2.1'): string[] {
  return Array.from({ length: count }, (_, n) => guess(keys, from, `apk_k${n}_x`).code);
}

describe('WrongKeys', () => {
  it('refuses the wrong keys of one address beyond the limit, and says when to retry', async () => {
    const clock = new FakeClock();
    const keys = open(clock);
    expect(codes(keys, 60).every((code) => code === 'unauthenticated')).toBe(true);
    expect(guess(keys, '192.0.2.1', 'apk_other_x')).toMatchObject({ code: 'too_many', retryAfterSeconds: 1 });
    expect(codes(keys, 1, '192.0.2.2')).toEqual(['unauthenticated']);
    await clock.advance(10_000);
    expect(codes(keys, 11).filter((code) => code === 'unauthenticated')).toHaveLength(10);
  });

  it('judges a key that was good lately, whatever its address sends', () => {
    const keys = open(new FakeClock());
    keys.begin('192.0.2.1', 'apk_mine_x').good();
    codes(keys, 500);
    for (let n = 0; n < 100; n++) keys.begin('192.0.2.1', 'apk_mine_x').good();
  });

  it('leaves look-ups to new texts of a limited address', async () => {
    const clock = new FakeClock();
    const keys = open(clock);
    codes(keys, 60);
    keys.begin('192.0.2.1', 'new').good();
    for (let n = 0; n < 10; n++) guess(keys, '192.0.2.1', `text${n}`);
    expect(() => keys.begin('192.0.2.1', 'later')).toThrow(PublicError);
    await clock.advance(1_000);
    keys.begin('192.0.2.1', 'later').good();
  });

  it('judges a new key of a limited address while no one guesses at its public part', () => {
    const keys = open(new FakeClock());
    expect(codes(keys, 600).slice(60)).toEqual(Array.from({ length: 540 }, () => 'too_many'));
    for (let n = 0; n < 10; n++) keys.begin('192.0.2.1', `apk_new${n}_x`).good();
  });

  it('refuses the wrong secrets of one key from any number of addresses', () => {
    const keys = open(new FakeClock());
    const answers = Array.from({ length: 70 }, (_, n) => guess(keys, `192.0.2.${n}`, `apk_one_${n}`).code);
    expect(answers.slice(60)).toEqual(Array.from({ length: 10 }, () => 'too_many'));
  });

  it('forgets that a key was good once it is wrong', () => {
    const keys = open(new FakeClock());
    keys.begin('192.0.2.1', 'apk_gone_x').good();
    keys.begin('192.0.2.1', 'apk_gone_x').wrong(WRONG);
    codes(keys, 70);
    expect(guess(keys, '192.0.2.1', 'apk_gone_x').code).toBe('too_many');
  });
});

describe('TokenBuckets', () => {
  it('remembers no more buckets than it may', () => {
    const buckets = new TokenBuckets({ capacity: 1, perSecond: 1, most: 3, clock: new FakeClock() });
    for (const name of ['a', 'b', 'c']) expect(buckets.take(name)).toBe(true);
    expect(buckets.take('a')).toBe(false);
    expect(buckets.take('d')).toBe(true);
    // b was seen the longest ago
    expect([buckets.take('a'), buckets.take('b')]).toEqual([false, true]);
  });
});

describe('sourceOf', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    [undefined, 'unknown'],
  ])('names the source of %s', (address, source) => {
    expect(sourceOf(address)).toBe(source);
  });
});
