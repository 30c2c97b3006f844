/** The users with a stuck process are kept for the whole process. @own-process */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { FakeClock, temporaryFolder, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { BESIDE_STUCK, type ReadPiece, readMemoryFile, STUCK } from './memory-file.js';

const folder = temporaryFolder();
const onUnix = process.platform === 'win32' ? it.skip : it;

async function text(read: ReadPiece): Promise<string> {
  const buffer = Buffer.alloc(100);
  return buffer.toString('utf8', 0, await read(buffer, 0));
}

describe('readMemoryFile', () => {
  it('reads a file, and nothing of one that is not there', async () => {
    const path = join(folder, 'environ');
    writeFileSync(path, 'A=1');
    expect(await readMemoryFile(path, new FakeClock(), text)).toBe('A=1');
    expect(await readMemoryFile(join(folder, 'missing'), new FakeClock(), text)).toBeUndefined();
  });

  onUnix(
    'waits a second for a file that keeps its readers waiting, and asks no second one of that user',
    async () => {
      const clock = new FakeClock();
      // a pipe without a writer keeps its reader in the kernel, as a locked memory does
      const pipes = ['a', 'b'].map((name) => join(folder, name));
      for (const pipe of pipes) execFileSync('mkfifo', [pipe]);
      const [a = '', b = ''] = pipes;
      const [first, second] = [readMemoryFile(a, clock, text), readMemoryFile(a, clock, text)];
      await clock.advance(1_000);
      expect(await Promise.all([first, second])).toEqual([STUCK, STUCK]);
      // both without a wait, as this clock does not move
      expect(await readMemoryFile(a, clock, text)).toBe(STUCK);
      expect(await readMemoryFile(b, clock, text)).toBe(BESIDE_STUCK);
      await (await open(a, 'w')).close();
      await waitFor(async () => {
        const found = readMemoryFile(b, clock, text);
        await setImmediate();
        if (clock.pending === 0) return (await found) !== BESIDE_STUCK;
        const writer = await open(b, 'w');
        await writer.write('A=2');
        await writer.close();
        expect(await found).toBe('A=2');
        return true;
      });
    },
  );

  it.each([1_050, 1_300])('takes what was read while its own process stood still for %d ms', async (ms) => {
    const path = join(folder, 'late');
    writeFileSync(path, 'A=3');
    const found = readMemoryFile(path, systemClock, text);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    expect(await found).toBe('A=3');
  });
});
