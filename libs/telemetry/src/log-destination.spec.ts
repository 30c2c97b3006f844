import { closeSync, existsSync, openSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { openLogDestination } from './logger.js';

const FULL = '/dev/full';

(existsSync(FULL) ? describe : describe.skip)('a logger over a full disk', () => {
  it('throws nothing and keeps few of the lines that it cannot write', () => {
    const descriptor = openSync(FULL, 'w');
    const destination = openLogDestination(descriptor);
    const log = pino(destination.stream);
    const text = 'x'.repeat(1_000);
    for (let line = 0; line < 2_000; line++) log.info({ text }, 'a line that no disk takes');
    // 256 KiB hold some 240 of them
    expect(destination.dropped).toBeGreaterThan(1_700);
    closeSync(descriptor);
  });
});
