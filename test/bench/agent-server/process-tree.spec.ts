import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cpuOf, residentOf, treeOf, wholeCpuOf } from './process-tree.mjs';

describe('the tree of a process whose children end all the time', () => {
  const shell = spawn('bash', ['-c', 'while :; do bash -c : & bash -c : & wait; done'], { stdio: 'ignore' });
  const root = (): number => shell.pid ?? 0;

  beforeAll(() => once(shell, 'spawn'));
  afterAll(() => void shell.kill('SIGKILL'));

  it('answers the processes that are alive', () => {
    let childrenMs = 0;
    for (let time = 0; time < 50; time++) {
      expect(treeOf(root())[0]).toBe(root());
      expect(residentOf(root())).toBeGreaterThan(0);
      childrenMs = wholeCpuOf(root()) - (cpuOf(root()).get(root()) ?? 0);
    }
    expect(childrenMs).toBeGreaterThan(0);
  });
});
