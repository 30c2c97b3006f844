import { describe, expect, it } from '@jest/globals';
import { canUseUpDescriptors, withoutDescriptors } from '#lib/testing';
import { systemClock } from '#lib/time';
import { UNASKED } from './memory-file.js';
import { readApart } from './environment-variable.js';

const read = (path: string) => readApart(path, 1_000, systemClock);

describe('readApart', () => {
  (canUseUpDescriptors ? it : it.skip)('leaves a process unasked without descriptors', async () => {
    expect(await withoutDescriptors(() => read('/etc/passwd'))).toBe(UNASKED);
    expect(await read('/etc/passwd')).toBeInstanceOf(Buffer);
  });

  it('leaves a process unasked where starting a reader throws', async () => {
    expect(await read('no name of a file\0')).toBe(UNASKED);
  });
});
