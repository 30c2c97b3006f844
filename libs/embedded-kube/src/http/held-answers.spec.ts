import { describe, expect, it } from '@jest/globals';
import { HeldAnswers } from './held-answers.js';

const MB = 1024 * 1024;

/** An answer that is being read by an account of a namespace. */
class Reading {
  readonly user;
  readonly #ended = new AbortController();

  constructor(namespace: string) {
    this.user = { username: `system:serviceaccount:${namespace}:a`, groups: [] };
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

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

  it('leaves half to those who read nothing yet, and refuses more of the others', () => {
    const held = new HeldAnswers(10 * MB, 20 * MB);
    for (const namespace of ['a', 'b']) begun(held, namespace, 5 * MB);
    expect(() => begun(held, 'a', 4 * MB)).toThrow(/^all users together have not read answers of 10485760/);
    for (const namespace of ['c', 'd']) begun(held, namespace, 5 * MB);
    expect(() => begun(held, 'e', MB)).toThrow(/^all users together/);
  });
});
