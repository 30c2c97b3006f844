import { closeSync, existsSync, openSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { createLogger } from './logger.js';

const FULL = '/dev/full';

(existsSync(FULL) ? describe : describe.skip)('a logger over a full disk', () => {
  it('throws nothing and keeps bounded memory', () => {
    const descriptor = openSync(FULL, 'w');
    const log = createLogger('test', 'info', descriptor);
    const before = process.memoryUsage().heapUsed;
    const text = 'x'.repeat(1_000);
    for (let line = 0; line < 50_000; line++) log.info({ text }, 'a line that no disk takes');
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(30 * 1024 * 1024);
    closeSync(descriptor);
  });
});
