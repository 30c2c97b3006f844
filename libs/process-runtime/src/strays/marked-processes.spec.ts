import { spawn } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { systemClock } from '#lib/time';
import { markedProcesses } from './marked-processes.js';
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
      expect(found.map(({ pid }) => pid)).toEqual([own.pid]);
      await markedProcesses('MARK', 'this', { ...options, read });
      expect(readPids).toEqual([own.pid]);
      const all = await markedProcesses('MARK', 'this', { clock: systemClock });
      expect(all.map(({ pid }) => pid).sort()).toEqual([own.pid, foreign.pid].sort());
    } finally {
      for (const child of [own, foreign]) child.kill('SIGKILL');
    }
  });

  it('leaves out a process that keeps its variables from its readers, and names it', async () => {
    const env = { PATH: '/usr/bin:/bin' };
    const own = spawn('sleep', ['1000'], { uid: USER, gid: USER, cwd: '/', env, stdio: 'ignore' });
    const read = (pid: number) => Promise.resolve(pid === own.pid ? STUCK : undefined);
    const stuckPids: number[] = [];
    try {
      const options = { clock: systemClock, read, onStuck: (pid: number) => stuckPids.push(pid) };
      const found = await markedProcesses('MARK', 'this', { ...options, uid: USER });
      expect(found).toEqual([]);
      expect(await markedProcesses('MARK', 'this', options)).toEqual([]);
      expect(stuckPids).toEqual([own.pid, own.pid]);
    } finally {
      own.kill('SIGKILL');
    }
  });
});
