import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { type Clock, systemClock } from '#lib/time';
import { STUCK } from '../strays/memory-file.js';
import { MemoryWatch } from './memory-watch.js';

(process.platform === 'linux' ? describe : describe.skip)('MemoryWatch', () => {
  it('looks at all containers as soon as ever beside a process that keeps its readers waiting', async () => {
    const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
    await once(child, 'spawn');
    let now = 0;
    const pauses: number[] = [];
    const second = Promise.withResolvers<void>();
    const clock: Clock = {
      ...systemClock,
      monotonicMs: () => now,
      sleep: () => Promise.resolve(),
      after(ms, look) {
        pauses.push(ms);
        if (pauses.length === 1) setImmediate(look);
        else second.resolve();
        return () => undefined;
      },
    };
    const watch = new MemoryWatch(clock, (path) => {
      if (path !== `/proc/${child.pid}/smaps_rollup`) return Promise.resolve('Pss_Anon: 1 kB\n' as never);
      now += 1_000;
      return Promise.resolve(STUCK);
    });
    // less than this process has, and more than the parts of all
    const end = watch.watch({ pid: process.pid, maxBytes: 20 * 2 ** 20, onExceeded: () => second.resolve() });
    await second.promise;
    end();
    child.kill('SIGKILL');
    expect([now, pauses]).toEqual([1_000, [500, 500]]);
  });
});
