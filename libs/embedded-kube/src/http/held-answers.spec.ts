import { describe, expect, it } from '@jest/globals';
import { HeldAnswers } from './held-answers.js';

const account = (namespace: string) => ({ username: `system:serviceaccount:${namespace}:a`, groups: [] });
const MB = 1024 * 1024;

describe('HeldAnswers', () => {
  it('refuses the accounts of a namespace more than their part until some of it is read', () => {
    const held = new HeldAnswers(100 * MB);
    const reading = Array.from({ length: 3 }, () => new AbortController());
    for (const { signal } of reading) held.begin(account('a'), 32 * MB, signal);
    const { signal } = new AbortController();
    expect(() => held.begin(account('a'), 32 * MB, signal)).toThrow(
      /has not read answers of 100663296 letters/,
    );
    held.begin(account('a'), 1_000, signal);
    held.begin(account('b'), 32 * MB, signal);
    held.begin({ username: 'admin', groups: ['system:masters'] }, 200 * MB, signal);
    reading[0]?.abort();
    held.begin(account('a'), 32 * MB, signal);
  });

  it('admits one however large it is', () => {
    const held = new HeldAnswers(MB);
    const { signal } = new AbortController();
    held.begin(account('a'), 2 * MB, signal);
    expect(() => held.begin(account('a'), MB, signal)).toThrow(/may leave 1048576/);
  });
});
