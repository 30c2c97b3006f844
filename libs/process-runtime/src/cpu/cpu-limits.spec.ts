import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { temporaryFolder, waitFor } from '#lib/testing';
import { type CgroupPlace, findCgroupPlaces, openCpuLimits } from './cpu-limits.js';

const NODE_NAME = `test-${process.pid}`;
const [place] = findCgroupPlaces();
const { problem } = openCpuLimits(NODE_NAME);
if (problem !== undefined) process.stderr.write(`LEFT OUT: bounds by control groups: ${problem}\n`);
const itBound = problem === undefined ? it : it.skip;

describe('findCgroupPlaces', () => {
  const SECOND = 'cgroup2 /sys/fs/cgroup cgroup2 rw 0 0';
  const root = '/sys/fs/cgroup/cgroup.controllers';

  it.each<[string, string, string, (file: string) => boolean, readonly CgroupPlace[]]>([
    [
      'version 1 below its own group',
      'cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0',
      '4:memory:/m\n3:cpu,cpuacct:/user.slice\n0::/x',
      () => false,
      [{ folder: '/sys/fs/cgroup/cpu,cpuacct/user.slice', version: 1 }],
    ],
    [
      'version 2 above its own group, from the root',
      SECOND,
      '0::/user.slice/user@1.service/app.scope',
      () => true,
      [
        { folder: '/sys/fs/cgroup', version: 2 },
        { folder: '/sys/fs/cgroup/user.slice', version: 2 },
        { folder: '/sys/fs/cgroup/user.slice/user@1.service', version: 2 },
      ],
    ],
    [
      'version 2 at the root of a container',
      SECOND,
      '0::/',
      (file) => file === root,
      [{ folder: '/sys/fs/cgroup', version: 2 }],
    ],
    ['none in version 2 without the controller', SECOND, '0::/a/b', () => false, []],
    ['none on a machine without groups', 'proc /proc proc rw 0 0', '', () => true, []],
  ])('finds %s', (_case, mounts, own, hasCpu, found) => {
    expect(findCgroupPlaces({ mounts, own, hasCpu })).toEqual(found);
  });
});

describe('openCpuLimits', () => {
  const folder = temporaryFolder();
  const children: ChildProcess[] = [];
  /** A process that starts another one, which uses what it gets. */
  const start = (by: 'main thread' | 'worker' = 'main thread'): number => {
    const inner = "require('node:child_process').spawn(process.execPath, ['-e', 'for(;;);'])";
    const inWorker = `new (require('node:worker_threads').Worker)(${JSON.stringify(inner)}, { eval: true })`;
    const outer = `setTimeout(() => ${by === 'worker' ? inWorker : inner}, 300); setInterval(() => 0, 1000)`;
    const child = spawn(process.execPath, ['-e', outer], { stdio: 'ignore', detached: true });
    children.push(child);
    return child.pid ?? 0;
  };
  const killAll = (): void => {
    for (const { pid } of children.splice(0)) if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  };
  /** Kills all, and waits until a group has no process. */
  const end = async (group: string): Promise<void> => {
    killAll();
    const file = join(place?.folder ?? '', `agentplane-${NODE_NAME}`, group, 'cgroup.procs');
    await waitFor(() => readFileSync(file, 'utf8') === '');
  };
  afterEach(killAll);
  afterAll(() => {
    openCpuLimits(NODE_NAME).close();
    expect(existsSync(join(place?.folder ?? '', `agentplane-${NODE_NAME}`))).toBe(false);
  });
  itBound('throttles a process and what it starts', async () => {
    const limits = openCpuLimits(NODE_NAME);
    const release = limits.bind(start(), 0.1);
    const made = join(place?.folder ?? '', `agentplane-${NODE_NAME}`);
    const [group = ''] = readdirSync(made).filter((name) => name.length === 36);
    await waitFor(() => /nr_throttled [1-9]/.test(readFileSync(join(made, group, 'cpu.stat'), 'utf8')));
    await end(group);
    release();
    expect(readdirSync(made)).not.toContain(group);
  });

  const BOTH = ['main thread', 'worker'] as const;
  itBound.each(BOTH)('bounds what a %s started before its process was bound', async (by) => {
    const limits = openCpuLimits(NODE_NAME);
    const pid = start(by);
    const threads = `/proc/${pid}/task`;
    const children = (): string =>
      readdirSync(threads)
        .map((thread) => readFileSync(join(threads, thread, 'children'), 'utf8').trim())
        .join('');
    await waitFor(() => Promise.resolve(children() !== ''), { what: 'the busy process' });
    const release = limits.bind(pid, 0.5);
    const made = join(place?.folder ?? '', `agentplane-${NODE_NAME}`);
    const [group = ''] = readdirSync(made).filter((name) => name.length === 36);
    const members = readFileSync(join(made, group, 'cgroup.procs'), 'utf8').split('\n');
    expect(members).toEqual(expect.arrayContaining([String(pid), children()]));
    await end(group);
    release();
  });

  itBound('removes groups that an earlier process left', async () => {
    const limits = openCpuLimits(NODE_NAME);
    limits.bind(start(), 1);
    const made = join(place?.folder ?? '', `agentplane-${NODE_NAME}`);
    const groups = (): string[] => readdirSync(made).filter((name) => name.length === 36);
    expect(groups()).toHaveLength(1);
    await end(groups()[0] ?? '');
    openCpuLimits(NODE_NAME);
    expect(groups()).toEqual([]);
  });

  it('lowers the priority where groups cannot be made, and reports why', () => {
    const limits = openCpuLimits(NODE_NAME, []);
    expect(limits.problem).toContain('control groups');
    const nowhere = openCpuLimits(NODE_NAME, [{ folder: join(folder, 'none', 'x'), version: 2 }]);
    expect(nowhere.problem).toContain('cannot be made');
    const pid = start();
    nowhere.bind(pid, 1);
    expect(getPriority(pid)).toBe(10);
  });
});
