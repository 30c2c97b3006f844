import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProcess } from '#lib/process-identity';
import { temporaryFolder, waitFor } from '#lib/testing';
import { stopPlatform } from './down-command.js';

describe('agentplane down', () => {
  const root = temporaryFolder();
  const children: ChildProcess[] = [];
  afterAll(() => children.forEach((child) => child.kill('SIGKILL')));

  /** A data folder that a process of this code owns. */
  async function ownedBy(code: string, command: string | undefined): Promise<string> {
    const child = spawn(process.execPath, ['-e', `${code}; setInterval(() => {}, 1000); console.log('up')`]);
    children.push(child);
    await once(child.stdout, 'data');
    const data = join(root, String(child.pid));
    mkdirSync(data);
    writeFileSync(join(data, 'lock'), JSON.stringify({ ...findProcess(child.pid ?? 0), command }));
    return data;
  }

  it('ends a platform that has not started yet', async () => {
    const data = await ownedBy('', 'up');
    expect(await stopPlatform({ data, timeout: 30_000 })).toBeUndefined();
    // the process is gone before Node has heard how it ended
    await waitFor(() => children.at(-1)?.signalCode === 'SIGTERM', { what: 'the end by SIGTERM' });
  });

  it('reports one that does not stop in time', async () => {
    const data = await ownedBy("process.on('SIGTERM', () => {})", 'up');
    await expect(stopPlatform({ data, timeout: 1 })).rejects.toMatchObject({
      exit: 'timedOut',
      message: expect.stringContaining('has not stopped after 0.001 s'),
    });
  });

  it('leaves a backup alone', async () => {
    const data = await ownedBy('', undefined);
    await expect(stopPlatform({ data, timeout: 1 })).rejects.toThrow(/is a backup or a restore/);
    expect(children.at(-1)?.exitCode).toBeNull();
  });

  it('has nothing to do where nothing runs', async () => {
    expect(await stopPlatform({ data: join(root, 'nothing'), timeout: 1 })).toBeUndefined();
  });
});
