import { describe, expect, it } from '@jest/globals';
import { HeldAnswers } from './held-answers.js';

const MB = 1024 * 1024;

/** An answer that is being read by an account of a namespace. */
class Reading {
  readonly user;
  readonly #ended = new AbortController();
  isCut = false;

  constructor(namespace: string) {
    this.user = { username: `system:serviceaccount:${namespace}:a`, groups: [] };
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  readonly cut = (): void => {
    this.isCut = true;
    this.end();
  };

  end(): void {
    this.#ended.abort();
  }
}

describe('HeldAnswers', () => {
  const begun = (held: HeldAnswers, namespace: string, letters: number): Reading => {
    const reading = new Reading(namespace);
    held.begin(reading, letters);
    return reading;
  };

  it('refuses the accounts of a namespace more than their part until some of it is read', () => {
    const held = new HeldAnswers(100 * MB, 1_000 * MB);
    const readings = Array.from({ length: 3 }, () => begun(held, 'a', 32 * MB));
    expect(() => begun(held, 'a', 32 * MB)).toThrow(/has not read answers of 100663296 letters/);
    begun(held, 'a', 1_000);
    begun(held, 'b', 32 * MB);
    held.begin(
      { ...begun(held, 'c', 1), user: { username: 'admin', groups: ['system:masters'] } } as never,
      200 * MB,
    );
    readings[0]?.end();
    begun(held, 'a', 32 * MB);
  });

  it('admits one however large it is', () => {
    const held = new HeldAnswers(MB, MB);
    begun(held, 'a', 2 * MB);
    expect(() => begun(held, 'a', MB)).toThrow(/may leave 1048576/);
  });

  it('cuts the oldest answers of the user who leaves most unread, where all leave too much', () => {
    const held = new HeldAnswers(10 * MB, 20 * MB);
    const large = [4, 4].map((size) => begun(held, 'a', size * MB));
    const others = ['b', 'c'].map((namespace) => begun(held, namespace, 5 * MB));
    const late = begun(held, 'd', 5 * MB);
    expect([...large, ...others, late].map(({ isCut }) => isCut)).toEqual([true, false, false, false, false]);
    // what was cut counts once, also when its request ends afterwards
    begun(held, 'e', MB);
    expect(large[1]?.isCut).toBe(false);
  });

  it('refuses the user who would leave most unread, and cuts no other', () => {
    const held = new HeldAnswers(10 * MB, 12 * MB);
    const all = ['a', 'b'].map((namespace) => begun(held, namespace, 5 * MB));
    expect(() => begun(held, 'a', 4 * MB)).toThrow(/a would leave most of them/);
    expect(all.some(({ isCut }) => isCut)).toBe(false);
  });
});
