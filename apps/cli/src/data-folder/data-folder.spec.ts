import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataFolder } from './data-folder.js';
import { ensurePorts } from './ports.js';

describe('data folder', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'agentplane-data-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('has one owner at a time', () => {
    const first = openDataFolder(folder);
    expect(() => openDataFolder(folder)).toThrow(/in use by process \d+/);
    first.release();
    openDataFolder(folder).release();
  });

  it('is taken over from an owner that was killed', () => {
    writeFileSync(join(folder, 'lock'), JSON.stringify({ pid: process.pid, startedAt: 'another boot/1' }));
    openDataFolder(folder).release();
  });

  it('of a newer format is refused, and left alone', () => {
    writeFileSync(join(folder, 'format.json'), '{"version": 2}');
    expect(() => openDataFolder(folder)).toThrow(/format 2.*newer version/);
    openDataFolderAfterRepair();
  });

  function openDataFolderAfterRepair(): void {
    writeFileSync(join(folder, 'format.json'), '{"version": 1}');
    openDataFolder(folder).release();
  }

  it('keeps secrets to the owner, and out of git', () => {
    openDataFolder(folder).release();
    expect(statSync(join(folder, 'secrets')).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(folder, '.gitignore'), 'utf8')).toBe('*\n');
  });

  it('chooses ports once', async () => {
    const path = join(folder, 'ports.json');
    const first = await ensurePorts(path, 0);
    expect(new Set(Object.values(first)).size).toBe(5);
    const busy = createServer();
    await new Promise<void>((resolve) => busy.listen(first.kube, '127.0.0.1', resolve));
    expect(await ensurePorts(path, 0)).toEqual(first);
    expect((await ensurePorts(path, 18470)).rest).toBe(18470);
    await new Promise((resolve) => busy.close(resolve));
  });
});
