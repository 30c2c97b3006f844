import { describe, expect, it } from '@jest/globals';
import { digestIdleToken } from '#lib/resources';
import { formatIdle, isIdleToken, readIdle } from './idle-answer.js';

describe('readIdle', () => {
  const answer = { idleMs: 5, isBusy: false, workInMs: 10, isClosed: true };

  it('reads what formatIdle writes', () => {
    expect(readIdle({ idle: formatIdle(answer) })).toEqual(answer);
    const never = { ...answer, workInMs: undefined };
    expect(readIdle({ idle: formatIdle(never) })).toEqual(never);
  });

  it.each([-1, 1e300, Infinity, NaN, '5'])('takes %p for no time', (time) => {
    expect(readIdle({ idle: { ...formatIdle(answer), work_in_ms: time } })).toBeUndefined();
    expect(readIdle({ idle: { ...formatIdle(answer), idle_ms: time } })).toBeUndefined();
  });
});

describe('isIdleToken', () => {
  const digest = digestIdleToken('token');

  it('admits the token and nothing that the server itself knows', () => {
    expect(isIdleToken('token', digest)).toBe(true);
    for (const other of [digest, '', 'tokens', undefined, ['token']])
      expect([other, isIdleToken(other, digest)]).toEqual([other, false]);
    expect(isIdleToken('', '')).toBe(false);
  });
});
