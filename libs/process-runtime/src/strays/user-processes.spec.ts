import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { findProcess, type ProcessIdentity, isRunning } from '#lib/process-identity';
import { FakeClock, temporaryFolder, waitFor } from '#lib/testing';
import { systemClock } from '#lib/time';
import { FEW_STUCK } from './bounded-reader.js';
import { STUCK } from './memory-file.js';
import { NODE_MARKER } from './process-status.js';
import { endProcessesOf } from './user-processes.js';

const USER = 61_987;
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

(isRoot ? describe : describe.skip)('endProcessesOf', () => {
  const folder = temporaryFolder();
  const own = join(folder, 'own');
  mkdirSync(own);
  const usersFile = join(own, 'users.json');
  writeFileSync(usersFile, '{}');

  /** No child of this process, which leaves its own alone. */
  function orphan(claimed: string, cwd = '/', uid = USER): ProcessIdentity {
    const line = 'sleep 1000 >/dev/null 2>&1 & echo $!';
    const env = { PATH: '/usr/bin:/bin', [NODE_MARKER]: join(folder, claimed, 'pods') };
    const text = execFileSync('sh', ['-c', line], { uid, gid: uid, cwd, env, encoding: 'utf8' });
    const identity = findProcess(Number(text));
    if (!identity) throw new Error('the process is not there');
    return identity;
  }

  const installation = { podsFolder: join(own, 'pods'), usersFile };
  const end = async (isIdle = () => true): Promise<number> => {
    const { ended } = await endProcessesOf({ ...installation, uids: [USER], clock: systemClock, isIdle });
    return ended;
  };

  it.each([
    [
      'a link to a file of root',
      'linked',
      () => symlinkSync('/etc/passwd', join(folder, 'linked/users.json')),
    ],
    ['a folder', 'folder', () => mkdirSync(join(folder, 'folder/users.json'))],
    ['nothing', 'nothing', () => undefined],
  ])('kills a process that claims a node whose users are %s', async (_what, name, make) => {
    mkdirSync(join(folder, name));
    make();
    const claiming = orphan(name);
    expect(await end()).toBe(1);
    await waitFor(() => !isRunning(claiming));
  });

  it('kills a process that claims this node by another path', async () => {
    symlinkSync(own, join(folder, 'alias'));
    const claiming = orphan('alias');
    expect(await end()).toBe(1);
    await waitFor(() => !isRunning(claiming));
  });

  it('leaves a process of another node alone', async () => {
    mkdirSync(join(folder, 'other'));
    writeFileSync(join(folder, 'other/users.json'), '{}');
    const claiming = orphan('other');
    try {
      expect(await end()).toBe(0);
      expect(isRunning(claiming)).toBe(true);
    } finally {
      process.kill(claiming.pid, 'SIGKILL');
    }
  });

  it('leaves processes alone once a pod of their user runs again', async () => {
    const claiming = orphan('none');
    expect(await end(() => false)).toBe(0);
    expect(isRunning(claiming)).toBe(true);
    expect(await end()).toBe(1);
  });

  it('kills what works in a folder of its pods first, and asks nothing of it', async () => {
    const home = join(own, 'pods', 'uid', 'work');
    mkdirSync(home, { recursive: true });
    const [away, atHome] = [orphan('none'), orphan('none', home)];
    const asked: number[] = [];
    const { ended } = await endProcessesOf({
      ...installation,
      uids: [USER],
      clock: systemClock,
      isIdle: () => true,
      read: (pid) => (asked.push(pid), Promise.resolve(STUCK)),
    });
    expect([ended, asked]).toEqual([2, [away.pid]]);
    await waitFor(() => ![away, atHome].some(isRunning));
  });

  it('waits for stuck processes no longer than it has time, and ends those of others', async () => {
    const clock = new FakeClock();
    const [hostile, other] = [USER - 20, USER - 21];
    const stuck = Array.from({ length: 40 }, () => orphan('none', '/', hostile));
    const last = orphan('none', '/', other);
    const state = { isOver: false };
    const ending = endProcessesOf({
      ...installation,
      uids: [hostile, other],
      clock,
      isIdle: () => true,
      bounds: FEW_STUCK,
      async read(pid) {
        if (pid === last.pid) return undefined;
        await clock.sleep(1_000);
        return STUCK;
      },
    }).finally(() => (state.isOver = true));
    try {
      while (!state.isOver) await clock.advance(100);
      const { ended, unasked } = await ending;
      expect(clock.monotonicMs()).toBeLessThan(20_000);
      expect([ended, unasked]).toEqual([16, [hostile]]);
      await waitFor(() => !isRunning(last));
    } finally {
      for (const { pid } of stuck.filter(isRunning)) process.kill(pid, 'SIGKILL');
    }
  });
});
