import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, closeSync, constants, openSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { FakeClock, temporaryFolder, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { variableIn, variableOf } from './environment-variable.js';
import { STUCK } from './memory-file.js';

const onLinux = process.platform === 'linux' ? it : it.skip;
const folder = temporaryFolder();

describe('variableOf', () => {
  onLinux('finds the last of a megabyte of variables', async () => {
    const filling = Array.from(
      { length: 10 },
      (_, index) => [`FILL_${index}`, 'LAST=x'.repeat(16_000)] as const,
    );
    const env = { PATH: process.env.PATH, ...Object.fromEntries(filling), LAST: 'one=ä' };
    const child = spawn('sleep', ['1000'], { stdio: 'ignore', env });
    try {
      const pid = child.pid ?? 0;
      const names = ['PATH', 'LAST', 'ILL_1', 'MISSING'];
      expect(await Promise.all(names.map((name) => variableOf(pid, name, systemClock)))).toEqual([
        process.env.PATH,
        'one=ä',
        undefined,
        undefined,
      ]);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('finds nothing for a process that is not there', async () => {
    expect(await variableOf(2 ** 30, 'PATH', systemClock)).toBeUndefined();
  });

  it('reads no more than a process may be started with', async () => {
    const file = join(folder, 'environ');
    writeFileSync(file, 'A=1\0B=2\0');
    truncateSync(file, 400 << 20);
    appendFileSync(file, '\0C=3\0');
    const found = ['A', 'B', 'C'].map((name) => variableIn(file, name, systemClock));
    expect(await Promise.all(found)).toEqual(['1', '2', undefined]);
  });

  onLinux('reads those of a process beside a stuck one of its user, for two that ask at once', async () => {
    // a pipe without a writer keeps its reader in the kernel, as a locked memory does
    const pipes = ['first', 'second'].map((name) => join(folder, name));
    for (const pipe of pipes) execFileSync('mkfifo', [pipe]);
    const [first = '', second = ''] = pipes;
    const free = join(folder, 'free');
    writeFileSync(free, 'A=1\0B=2\0');
    const clock = new FakeClock();
    const write = constants.O_WRONLY | constants.O_NONBLOCK;
    try {
      const stuck = variableIn(first, 'A', clock);
      await clock.advance(1_000);
      expect(await stuck).toBe(STUCK);
      expect(await Promise.all(['A', 'B'].map((name) => variableIn(free, name, clock)))).toEqual(['1', '2']);
      const other = variableIn(second, 'A', clock);
      await waitFor(() => clock.pending > 0);
      await clock.advance(3_000);
      expect(await other).toBe(STUCK);
      // without a reader it cannot be opened
      await waitFor(() => {
        try {
          closeSync(openSync(second, write));
          return false;
        } catch (error) {
          return (error as NodeJS.ErrnoException).code === 'ENXIO';
        }
      });
    } finally {
      closeSync(openSync(first, write));
    }
  });
});
