import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { findProcess } from '#lib/process-identity';
import { canUseUpDescriptors, temporaryFolder, withoutDescriptors } from '#lib/testing';
import { type Clock, systemClock } from '#lib/time';
import { LogFile } from '../log/log-file.js';
import { nodeUser } from '../user/pod-user.js';
import { startProcess } from '../spare/start-process.js';
import { ContainerProcess, type ProcessExit } from './container-process.js';
import { readTerminationMessage } from './container-view.js';

const root = temporaryFolder();
const environment = { PATH: process.env.PATH ?? '' };

/** @param start takes the step that starts the process */
function run(
  line: string,
  clock: Clock = systemClock,
  start = (step: () => ContainerProcess) => step(),
): Promise<ProcessExit> {
  const folder = mkdtempSync(join(root, 'run-'));
  const launch = {
    command: 'sh',
    args: ['-c', line],
    folder,
    environment,
    user: nodeUser(),
    isFolderNamed: false,
    noNewPrivileges: false,
    sockets: [],
  };
  const log = new LogFile(join(folder, 'logs'), 0, clock);
  const tools = { setpriv: undefined, env: undefined };
  return start(() => new ContainerProcess(launch, startProcess(launch, tools), log, clock)).ended;
}

describe('a process that means harm', () => {
  it('cannot fill the memory of the node through its channel', async () => {
    // a channel that the node reads takes all of it at once; one that it does not read blocks the writer
    const { code } = await run('timeout 2 head -c 20000000 /dev/zero >&3');
    expect(code).toBe(124);
  });

  it('cannot take the time of the node by writing short lines without end', async () => {
    let now = 0;
    const pauses: number[] = [];
    // every look at this clock costs 10 ms, and so does every write to the log
    const clock: Clock = {
      ...systemClock,
      monotonicMs: () => (now += 10),
      after(ms, callback) {
        pauses.push(ms);
        return systemClock.after(0, callback);
      },
    };
    expect((await run("head -c 4000000 /dev/zero | tr '\\0' '\\n'", clock)).code).toBe(0);
    expect(pauses.filter((ms) => ms >= 40).length).toBeGreaterThan(20);
  });

  it('gets no signal once it has ended, when its number may be that of another process', async () => {
    let ended: ContainerProcess | undefined;
    await run('exit 0', systemClock, (start) => (ended = start()));
    const kill = jest.spyOn(process, 'kill');
    try {
      expect((await ended?.stop(0))?.code).toBe(0);
      expect((await ended?.stop(10))?.code).toBe(0);
      expect(kill).not.toHaveBeenCalled();
    } finally {
      kill.mockRestore();
    }
  });

  it('still learns through its channel that the node ends, when Node runs it', async () => {
    const script =
      "process.on('disconnect', () => 0); console.log(process.connected); process.exit(process.connected ? 7 : 8)";
    expect((await run(`exec ${process.execPath} -e "${script}"`)).code).toBe(7);
  });

  it('does not delay its own end by filling its channel', async () => {
    expect((await run('head -c 60000 /dev/zero >&3')).code).toBe(0);
    expect((await run('exit 0')).code).toBe(0);
  });

  (process.platform === 'linux' ? it : it.skip)(
    'leaves nothing in its session, whatever group and variables that has',
    async () => {
      const file = join(root, 'left.pid');
      await run(`set -m; env -i sleep 1000 > /dev/null 2>&1 & echo $! > ${file}`);
      const left = findProcess(Number(readFileSync(file, 'utf8')));
      if (left) process.kill(left.pid, 'SIGKILL');
      expect(left).toBeUndefined();
    },
  );

  (process.platform === 'linux' ? it : it.skip)(
    'ends beside a process that the node may not kill, which is named',
    async () => {
      const file = join(root, 'refusing.pid');
      const kill = jest.spyOn(process, 'kill').mockImplementation(() => {
        throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
      });
      try {
        const exit = await run(`sleep 1000 > /dev/null 2>&1 & echo $! > ${file}`);
        expect(exit).toEqual({ code: 0, unclear: [Number(readFileSync(file, 'utf8'))] });
      } finally {
        kill.mockRestore();
        process.kill(Number(readFileSync(file, 'utf8')), 'SIGKILL');
      }
    },
  );

  (canUseUpDescriptors ? it : it.skip)('ends nothing but itself when there are no descriptors', async () => {
    expect(await run('true', systemClock, withoutDescriptors)).toEqual({
      code: 128,
      startFailure: 'spawn sh EMFILE',
    });
  });

  it('cannot have another file read as its termination message, nor stop the node with a pipe', () => {
    const folder = join(root, 'messages');
    mkdirSync(folder);
    writeFileSync(join(folder, 'secret'), 'secret');
    symlinkSync(join(folder, 'secret'), join(folder, 'link'));
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    mkdirSync(join(folder, 'folder'));
    for (const name of ['link', 'pipe', 'folder', 'missing'])
      expect(readTerminationMessage(join(folder, name))).toBe('');
    expect(readTerminationMessage(join(folder, 'secret'))).toBe('secret');
  });
});
