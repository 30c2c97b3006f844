import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { FakeClock, temporaryFolder } from '#lib/testing';
import { type ReadPiece, readMemoryFile, STUCK } from './memory-file.js';

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

  onUnix('waits a second for a file that keeps its readers waiting, and for no third one', async () => {
    const clock = new FakeClock();
    // a pipe that nobody writes to keeps its reader in the kernel, as a locked memory does
    const pipes = ['a', 'b', 'c'].map((name) => join(folder, name));
    for (const pipe of pipes) execFileSync('mkfifo', [pipe]);
    const [a = '', b = '', c = ''] = pipes;
    const reads = [a, b].map((pipe) => readMemoryFile(pipe, clock, text));
    await clock.advance(1_000);
    expect(await Promise.all(reads)).toEqual([STUCK, STUCK]);
    expect(await readMemoryFile(a, clock, text)).toBe(STUCK);
    expect(await readMemoryFile(c, clock, text)).toBe(STUCK);
    for (const pipe of [a, b]) await (await open(pipe, 'w')).close();
    const again = async (): Promise<unknown> => {
      const found = readMemoryFile(c, clock, text);
      await new Promise((resolve) => setImmediate(resolve));
      return clock.pending === 0 ? found : 'reads';
    };
    for (let tries = 0; tries < 1_000 && (await again()) === STUCK; tries++);
    const last = readMemoryFile(a, clock, text);
    const writer = await open(a, 'w');
    await writer.write('A=2');
    await writer.close();
    expect(await last).toBe('A=2');
    await (await open(c, 'w')).close();
  });
});
