import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { isSignedToken, makeToken } from './feedback-token-table.js';

const KEY = randomBytes(32);

describe('a signed token', () => {
  it('reads as a UUID of version 4 and is known by its key alone', () => {
    const tokens = Array.from({ length: 1_000 }, () => makeToken(KEY));
    for (const token of tokens) {
      expect(token).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(isSignedToken(token, KEY)).toBe(true);
      expect(isSignedToken(token.toUpperCase(), KEY)).toBe(true);
      expect(isSignedToken(token, randomBytes(32))).toBe(false);
    }
    expect(new Set(tokens).size).toBe(1_000);
  });

  it('fails with any digit changed, and for any other UUID', () => {
    const token = makeToken(KEY);
    for (const [at, digit] of [...token].entries())
      if (digit !== '-') {
        const other = (parseInt(digit, 16) ^ 1).toString(16);
        expect(isSignedToken(token.slice(0, at) + other + token.slice(at + 1), KEY)).toBe(false);
      }
    for (let times = 0; times < 1_000; times++) expect(isSignedToken(randomUUID(), KEY)).toBe(false);
    expect(isSignedToken('', KEY)).toBe(false);
  });
});
