import { describe, expect, it } from '@jest/globals';
import { readableLine } from './readable-line.js';

describe('readableLine', () => {
  it.each([
    [
      '{"level":"info","time":"2026-11-28T16:56:48.488Z","program":"agent-server","run_id":"r1","msg":"run succeeded"}',
      'info  run succeeded run_id=r1',
    ],
    [
      '{"level":"error","msg":"run failed","err":{"message":"boom\\nat x","stack":"…"},"n":{"a":1}}',
      'error run failed: boom at x n={"a":1}',
    ],
    ['{"level":"warn","msg":"slow","agent":{"tool":"search"}}', 'warn  slow tool=search'],
    ['plain text', 'plain text'],
    ['{"no":"message"}', '{"no":"message"}'],
    ['{"cut', '{"cut'],
  ])('shows %s', (line, shown) => {
    expect(readableLine(line)).toBe(shown);
  });
});
