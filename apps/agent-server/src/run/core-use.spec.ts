import { spawn } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { FakeClock, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { CoreUse } from './run-loads.js';

const itOnLinux = process.platform === 'linux' ? it : it.skip;

describe('CoreUse', () => {
  it('reports no use before its second look, nor within a moment of the last one', async () => {
    const clock = new FakeClock();
    const cores = new CoreUse(clock);
    expect(cores.read()).toBeUndefined();
    await clock.advance(100);
    expect(cores.read()).toBeUndefined();
    await clock.advance(1_000_000);
    expect(cores.read()).toBeLessThan(0.1);
  });

  itOnLinux('counts what a process of a process uses', async () => {
    const cores = new CoreUse(systemClock);
    const shell = spawn('sh', ['-c', `${process.execPath} -e 'for(;;);' & wait`], { detached: true });
    try {
      cores.read();
      await waitFor(() => Promise.resolve((cores.read() ?? 0) > 0.05), { what: 'a busy process' });
    } finally {
      if (shell.pid !== undefined) process.kill(-shell.pid, 'SIGKILL');
    }
  });
});
