import { describe, expect, it } from '@jest/globals';
import { formatRest, readRest } from './rest-answer.js';

describe('readRest', () => {
  const answer = { idleMs: 5, isBusy: false, workInMs: 10, isClosed: true };

  it('reads what formatRest writes', () => {
    expect(readRest({ rest: formatRest(answer) })).toEqual(answer);
    const never = { ...answer, workInMs: undefined };
    expect(readRest({ rest: formatRest(never) })).toEqual(never);
  });

  it.each([-1, 1e300, Infinity, NaN, '5'])('takes %p for no time', (time) => {
    expect(readRest({ rest: { ...formatRest(answer), work_in_ms: time } })).toBeUndefined();
    expect(readRest({ rest: { ...formatRest(answer), idle_ms: time } })).toBeUndefined();
  });
});
