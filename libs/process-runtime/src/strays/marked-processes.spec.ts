import { spawn } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { systemClock } from '#lib/time';
import { markedProcesses } from './end-strays.js';
import { STUCK } from './memory-file.js';

const USER = 61_986;
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

(isRoot ? describe : describe.skip)('markedProcesses', () => {
  it('reads the variables of the processes of one user alone', async () => {
    const env = { PATH: '/usr/bin:/bin', MARK: 'this' };
    const own = spawn('sleep', ['1000'], { uid: USER, gid: USER, cwd: '/', env, stdio: 'ignore' });
    const foreign = spawn('sleep', ['1000'], { cwd: '/', env, stdio: 'ignore' });
    const readPids: number[] = [];
    const read = (pid: number): Promise<string> => {
      readPids.push(pid);
      return Promise.resolve('this');
    };
    try {
      const options = { clock: systemClock, uid: USER };
      const found = await markedProcesses('MARK', 'this', options);
      expect(found.marked.map(({ pid }) => pid)).toEqual([own.pid]);
      await markedProcesses('MARK', 'this', { ...options, read });
      expect(readPids).toEqual([own.pid]);
      const all = await markedProcesses('MARK', 'this', { clock: systemClock });
      expect(all.marked.map(({ pid }) => pid).sort()).toEqual([own.pid, foreign.pid].sort());
    } finally {
      for (const child of [own, foreign]) child.kill('SIGKILL');
    }
  });

  it('takes what is certain unread, what is likely where it is stuck, and names the rest', async () => {
    const sleepers = ['certain', 'foreign', 'likely', 'unclear'].map((name) => {
      const options = { uid: USER - 10, gid: USER, cwd: '/', env: { PATH: '/usr/bin:/bin' } };
      return { name, child: spawn('sleep', ['1000'], { ...options, stdio: 'ignore' }) };
    });
    const nameOf = (pid: number) => sleepers.find(({ child }) => child.pid === pid)?.name;
    const read: (string | undefined)[] = [];
    try {
      const found = await markedProcesses('MARK', 'this', {
        clock: systemClock,
        uid: USER - 10,
        read: (pid) => (read.push(nameOf(pid)), Promise.resolve(STUCK)),
        isCertain: (pid) => ({ certain: true, foreign: false })[nameOf(pid) ?? ''],
        isLikely: (pid) => nameOf(pid) === 'likely',
      });
      expect(read).toEqual(['likely', 'unclear']);
      expect(found.marked.map(({ pid }) => nameOf(pid))).toEqual(['certain', 'likely']);
      expect(found.unclear.map(nameOf)).toEqual(['unclear']);
    } finally {
      for (const { child } of sleepers) child.kill('SIGKILL');
    }
  });

  it('asks no more than a few of a user that are stuck, and those of others nevertheless', async () => {
    const options = { cwd: '/', env: { PATH: '/usr/bin:/bin' }, stdio: 'ignore' } as const;
    const sleeperOf = (uid: number) => spawn('sleep', ['1000'], { ...options, uid, gid: uid });
    const stuck = Array.from({ length: 8 }, () => sleeperOf(USER - 11));
    const other = sleeperOf(USER - 12);
    let asked = 0;
    const read = (pid: number) => {
      if (!stuck.some((child) => child.pid === pid))
        return Promise.resolve(pid === other.pid ? 'this' : undefined);
      asked++;
      return Promise.resolve(STUCK);
    };
    try {
      const found = await markedProcesses('MARK', 'this', { clock: systemClock, read });
      expect([asked, found.unclear.length]).toEqual([5, 8]);
      expect(found.marked.map(({ pid }) => pid)).toEqual([other.pid]);
    } finally {
      for (const child of [...stuck, other]) child.kill('SIGKILL');
    }
  });
});
