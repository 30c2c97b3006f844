import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Clock, systemClock } from '#lib/time';
import { type readMemoryFile, STUCK } from '../strays/memory-file.js';
import { MemoryWatch } from './memory-watch.js';

const PROCESSES = 31;

(process.platform === 'linux' ? describe : describe.skip)('MemoryWatch', () => {
  let shell: ChildProcess;
  beforeAll(async () => {
    const line = `for i in $(seq ${PROCESSES - 1}); do sleep 1000 & done; echo ready; wait`;
    shell = spawn('sh', ['-c', line], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    if (shell.stdout) await once(shell.stdout, 'data');
  });
  afterAll(() => void process.kill(-(shell.pid ?? 0), 'SIGKILL'));

  /** Looks twice at processes that have a kilobyte each of their own, and together more than they may have. */
  async function lookTwice(answerMs: (asked: number) => number) {
    const seen = { now: 0, asked: 0, pauses: [] as number[], exceeded: 0 };
    const over = Promise.withResolvers<void>();
    const clock: Clock = {
      ...systemClock,
      monotonicMs: () => seen.now,
      sleep: () => Promise.resolve(),
      after(ms, look) {
        seen.pauses.push(ms);
        if (seen.pauses.length > 2 || seen.exceeded > 0) over.resolve();
        else setImmediate(look);
        return () => undefined;
      },
    };
    const read = (() => {
      const ms = answerMs(++seen.asked);
      seen.now += ms;
      return Promise.resolve(ms >= 1_000 ? STUCK : 'Pss_Anon: 1 kB\n');
    }) as unknown as typeof readMemoryFile;
    const watch = new MemoryWatch(clock, read);
    const end = watch.watch({
      pid: shell.pid ?? 0,
      maxBytes: 1_000_000,
      onExceeded: () => void seen.exceeded++,
    });
    await over.promise;
    end();
    return seen;
  }

  it('looks at all containers as soon as ever beside a process that keeps its readers waiting', async () => {
    const { now, pauses, exceeded } = await lookTwice((asked) => (asked === 1 ? 1_000 : 0));
    expect([now, pauses, exceeded]).toEqual([1_000, [500, 500, 500], 0]);
  });

  it('asks processes that answer late again after nine times as long', async () => {
    expect(await lookTwice(() => 50)).toEqual({
      now: PROCESSES * 50,
      asked: PROCESSES,
      pauses: [500, 500, 500],
      exceeded: 0,
    });
  });

  it('waits for the processes of one container for three seconds together', async () => {
    expect(await lookTwice(() => 400)).toMatchObject({ now: 3_200, asked: 8, exceeded: 0 });
  });
});
