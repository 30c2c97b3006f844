import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { temporaryFolder } from '#lib/testing';
import { type Clock, systemClock } from '#lib/time';
import { LogFile } from '../log/log-file.js';
import { nodeUser } from '../user/pod-user.js';
import { ContainerProcess, type ProcessExit } from './container-process.js';
import { readTerminationMessage } from './termination-message.js';

const root = temporaryFolder();
const environment = { PATH: process.env.PATH ?? '' };

function run(line: string, clock: Clock = systemClock): Promise<ProcessExit> {
  const folder = mkdtempSync(join(root, 'run-'));
  const launch = {
    ...{ command: 'sh', args: ['-c', line], folder, environment, user: nodeUser() },
    ...{ isFolderNamed: false, noNewPrivileges: false, sockets: [] },
  };
  const log = new LogFile(join(folder, 'logs'), 0, clock);
  return new ContainerProcess(launch, { setpriv: undefined, env: undefined }, log, clock).ended;
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

  it('still learns through its channel that the node ends, when Node runs it', async () => {
    const script =
      "process.on('disconnect', () => 0); console.log(process.connected); process.exit(process.connected ? 7 : 8)";
    expect((await run(`exec ${process.execPath} -e "${script}"`)).code).toBe(7);
  });

  it('does not delay its own end by filling its channel', async () => {
    const started = performance.now();
    await run('head -c 60000 /dev/zero >&3');
    await run('exit 0');
    expect(performance.now() - started).toBeLessThan(30_000);
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
