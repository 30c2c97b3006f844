import { spawn } from 'node:child_process';
import { appendFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { variableIn, variableOf } from './environment-variable.js';

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
        ...[process.env.PATH, 'one=ä', undefined, undefined],
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
});
