import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { waitFor } from '#lib/testing';
import { agentplane } from '../cli/agentplane.js';
import { leaveOut } from '../support/kubectl.js';
import {
  newDataFolder,
  type Platform,
  removeDataFolder,
  repository,
  startPlatform,
} from '../support/platform.js';

/** What cannot be compressed, so that a part takes a while. */
const FILES = 12;
const FILE_BYTES = 8 << 20;

/** A disk of its own needs the right to mount one. */
function mountDisk(megabytes: number): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-disk-'));
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'none', folder]);
  if (status === 0) return folder;
  rmSync(folder, { recursive: true });
  return undefined;
}

const disk = mountDisk(60);
if (!disk) leaveOut('backups onto a full disk, which have no right to mount one');

describe('a backup and a restore that are interrupted', () => {
  const original = newDataFolder();
  const place = newDataFolder();
  const backup = join(place, 'backup');
  const copy = join(place, 'copy');
  let platform: Platform;

  beforeAll(async () => {
    chmodSync(place, 0o755);
    platform = await startPlatform(original);
    const objects = join(original, 'objects', 'agentplane', 'large');
    mkdirSync(objects, { recursive: true });
    // objects without facts are served and copied as well
    const noise = spawnSync('head', ['-c', String(FILE_BYTES), '/dev/urandom'], {
      maxBuffer: 2 * FILE_BYTES,
    }).stdout;
    for (let file = 0; file < FILES; file++) {
      noise.writeUInt32BE(file, 0);
      writeFileSync(join(objects, `file-${String(file).padStart(3, '0')}`), noise);
    }
  });

  afterAll(async () => {
    await platform.stop();
    removeDataFolder(original);
    removeDataFolder(place);
    if (disk) spawnSync('umount', ['-l', disk]);
    if (disk) rmSync(disk, { recursive: true, force: true });
  });

  /** Kills the command once something is true; answers whether it was still at work. */
  async function killOnce(words: readonly string[], isTime: () => boolean): Promise<boolean> {
    const child = spawn(process.execPath, [join(repository, 'bin', 'agentplane.js'), ...words], {
      stdio: 'ignore',
      detached: true,
    });
    const ended = new Promise<NodeJS.Signals | null>((resolve) =>
      child.once('exit', (_code, signal) => resolve(signal)),
    );
    await waitFor(() => isTime() || child.exitCode !== null, {
      what: 'the moment to kill',
      timeoutMs: 60_000,
      intervalMs: 2,
    });
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    return (await ended) === 'SIGKILL';
  }

  const has = (folder: string, name: RegExp): boolean =>
    existsSync(folder) && readdirSync(folder).some((one) => name.test(one));

  it.each([
    ['objects', /^objects-0001.*\.partial$/],
    ['databases', /^databases.*\.partial$/],
  ])('goes on after a kill within the part %s', async (part, partial) => {
    const folder = `${backup}-${part}`;
    const words = ['backup', '--data', original, '--to', folder];
    expect(await killOnce(words, () => has(folder, partial))).toBe(true);
    const unfinished = await agentplane(['restore', folder, '--data', copy]);
    expect(unfinished).toMatchObject({
      code: 1,
      complaint: expect.stringContaining('is no complete backup') as unknown,
    });
    const again = await agentplane(words);
    expect(again).toMatchObject({
      code: 1,
      complaint: expect.stringContaining('go on with --resume') as unknown,
    });
    const resumed = await agentplane([...words, '--resume']);
    expect(resumed).toMatchObject({
      code: 0,
      output: expect.stringContaining('Backup complete') as unknown,
    });
    if (part === 'databases') expect(resumed.complaint).toMatch(/checking objects-0001/);
    expect(has(folder, /partial|progress|lock/)).toBe(false);
    expect((await agentplane(['backup', 'verify', folder])).code).toBe(0);
  });

  it('copies databases again that are older than replaced files of sealed days stay', async () => {
    const folder = `${backup}-old`;
    const words = ['backup', '--data', original, '--to', folder];
    const databases = /^databases\.tar\.zst$/;
    expect(await killOnce(words, () => has(folder, databases))).toBe(true);
    const before = new Date(Date.now() - 2 * 3_600_000);
    utimesSync(join(folder, 'databases.tar.zst'), before, before);
    const resumed = await agentplane([...words, '--resume']);
    expect(resumed).toMatchObject({ code: 0, complaint: expect.stringMatching(/^databases: /m) as unknown });
    expect((await agentplane(['backup', 'verify', folder])).code).toBe(0);
  });

  it('leaves a folder that a start refuses, when a restore is killed, and begins anew', async () => {
    const words = ['restore', `${backup}-objects`, '--data', copy];
    const postgres = (): boolean => has(copy, /^postgres/) || has(copy, /^images$/);
    expect(await killOnce(words, postgres)).toBe(true);
    await expect(startPlatform(copy)).rejects.toThrow(
      /restoring into .* was not finished; run "agentplane restore/,
    );
    const source = await agentplane(['backup', '--data', copy, '--to', `${backup}-of-half`]);
    expect(source).toMatchObject({
      code: 1,
      complaint: expect.stringContaining('was not finished') as unknown,
    });
    expect(await agentplane(words)).toMatchObject({ code: 0 });
    expect(has(copy, /^restoring\.json|^lock/)).toBe(false);
    expect(readdirSync(join(copy, 'objects', 'agentplane', 'large'))).toHaveLength(FILES);
    expect(readFileSync(join(copy, 'credentials.json'), 'utf8')).toContain(platform.credentials.apiKey);
  });

  (disk ? it : it.skip)(
    'reports a full disk, and leaves nothing half',
    async () => {
      const folder = join(disk ?? '', 'backup');
      const { code, complaint } = await agentplane(['backup', '--data', original, '--to', folder]);
      expect([code, complaint]).toEqual([1, expect.stringMatching(/no space left on the disk of .*backup/)]);
      expect(complaint).toContain('--resume');
      expect(has(folder, /partial|backup\.json/)).toBe(false);
      const into = join(disk ?? '', 'data');
      const restoring = await agentplane(['restore', `${backup}-objects`, '--data', into]);
      expect(restoring).toMatchObject({
        code: 1,
        complaint: expect.stringMatching(
          /the disk of .* is too small: \d+ MB free, \d+ MB needed/,
        ) as unknown,
      });
      expect(readdirSync(into)).toEqual([]);
    },
    60_000,
  );
});
