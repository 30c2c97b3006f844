import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataFolder } from './data-folder.js';
import { choosePorts, keepPorts } from './ports.js';

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

  it('takes the folder over from an owner that was killed', () => {
    writeFileSync(join(folder, 'lock'), JSON.stringify({ pid: process.pid, startedAt: 'another boot/1' }));
    openDataFolder(folder).release();
  });

  it('refuses a folder of a newer format and leaves it unchanged', () => {
    writeFileSync(join(folder, 'format.json'), '{"version": 2}');
    expect(() => openDataFolder(folder)).toThrow(/format 2.*newer version/);
    openDataFolderAfterRepair();
  });

  function openDataFolderAfterRepair(): void {
    writeFileSync(join(folder, 'format.json'), '{"version": 1, "platform": "0.2.0"}');
    openDataFolder(folder).release();
  }

  it('refuses a folder that a newer version used, and names the version', () => {
    writeFileSync(join(folder, 'format.json'), '{"version": 1, "platform": "99.1.0"}');
    expect(() => openDataFolder(folder)).toThrow(/last used by Agentplane 99\.1\.0.*restore a copy/);
    expect(readdirSync(folder)).toEqual(['format.json']);
  });

  it('copies its files before a newer version changes them, once and whole', () => {
    writeFileSync(join(folder, 'format.json'), '{"version": 1, "platform": "0.0.9"}');
    writeFileSync(join(folder, 'credentials.json'), '{"apiKey": "old"}');
    const files = join(folder, 'backups', '0.0.9', 'files');
    mkdirSync(`${files}.partial`, { recursive: true });
    writeFileSync(join(`${files}.partial`, 'half'), '');
    const first = openDataFolder(folder);
    first.upgrade?.copyFiles();
    first.release();
    writeFileSync(join(folder, 'credentials.json'), '{"apiKey": "new"}');
    // it was killed before the version was recorded: the copy is not made over by changed files
    const second = openDataFolder(folder);
    second.upgrade?.copyFiles();
    expect(readdirSync(files).sort()).toEqual(['credentials.json', 'format.json', 'kube', 'secrets']);
    expect(readFileSync(join(files, 'credentials.json'), 'utf8')).toBe('{"apiKey": "old"}');
    second.settle();
    second.release();
    const third = openDataFolder(folder);
    expect(third.upgrade).toBeUndefined();
    third.release();
  });

  it('refuses folders of versions before 0.2.0, which did not record theirs, and writes nothing', () => {
    writeFileSync(join(folder, 'format.json'), '{"version": 1}');
    expect(() => openDataFolder(folder)).toThrow(
      /was made by a version before 0\.2\.0, whose databases cannot be upgraded; name another folder/,
    );
    expect(readdirSync(folder)).toEqual(['format.json']);
    expect(readFileSync(join(folder, 'format.json'), 'utf8')).toBe('{"version": 1}');
  });

  it('refuses a folder with other files', () => {
    writeFileSync(join(folder, 'thesis.txt'), 'mine');
    expect(() => openDataFolder(folder)).toThrow(/is not empty and is no data folder/);
    expect(readdirSync(folder)).toEqual(['thesis.txt']);
  });

  (process.geteuid?.() === 0 ? it : it.skip)('refuses the folder of another user, and writes nothing', () => {
    openDataFolder(folder).release();
    chownSync(join(folder, 'format.json'), 12_345, 12_345);
    const before = readdirSync(folder);
    expect(() => openDataFolder(folder)).toThrow(
      /format\.json belongs to the user 12345, and this is the user 0/,
    );
    expect(readdirSync(folder)).toEqual(before);
  });

  it('names a broken file without showing its content, and opens once it is removed', () => {
    openDataFolder(folder).release();
    writeFileSync(join(folder, 'ports.json'), '{}');
    writeFileSync(join(folder, 'format.json'), '"secret');
    expect(() => openDataFolder(folder)).toThrow(
      new Error(`${join(folder, 'format.json')} is not JSON: restore or remove it`),
    );
    rmSync(join(folder, 'format.json'));
    openDataFolder(folder).release();
  });

  it('accepts what a killed start or an earlier import left', () => {
    mkdirSync(join(folder, 'images'));
    writeFileSync(join(folder, 'lock.4711'), '');
    openDataFolder(folder).release();
  });

  it('creates missing parent folders, and refuses a path through a file', () => {
    openDataFolder(join(folder, 'a', 'b')).release();
    writeFileSync(join(folder, 'file'), '');
    expect(() => openDataFolder(join(folder, 'file'))).toThrow(/cannot be used: it is a file/);
    expect(() => openDataFolder(join(folder, 'file', 'a', 'b'))).toThrow(
      /cannot be used: a part of its path is a file/,
    );
  });

  // Node's own recursive mkdir never comes back from there
  (process.platform === 'linux' ? it : it.skip)('refuses a place where nothing can be created', () => {
    expect(() => openDataFolder('/proc/agentplane/data')).toThrow(
      /cannot be used: nothing can be created there/,
    );
  });

  it('keeps secrets private to the owner and out of git', () => {
    openDataFolder(folder).release();
    expect(statSync(join(folder, 'secrets')).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(folder, '.gitignore'), 'utf8')).toBe('*\n');
  });

  it('closes every folder to others whatever the umask, also those that were made open before', () => {
    mkdirSync(join(folder, 'images'), { mode: 0o777 });
    const before = process.umask(0);
    try {
      openDataFolder(folder).release();
    } finally {
      process.umask(before);
    }
    const folders = ['images', 'kube', 'logs', 'node', 'objects', 'secrets'];
    expect(folders.map((name) => statSync(join(folder, name)).mode & 0o066)).toEqual(folders.map(() => 0));
  });

  it('takes the right to write into the folder from others', () => {
    chmodSync(folder, 0o1777); // as a new tmpfs is
    openDataFolder(folder).release();
    expect(statSync(folder).mode & 0o022).toBe(0);
  });

  it('chooses ports once', async () => {
    const path = join(folder, 'ports.json');
    const first = await choosePorts(path, { port: 0, isTls: false });
    expect(new Set(Object.values(first)).size).toBe(9);
    keepPorts(path, first);
    const busy = createServer();
    await new Promise<void>((resolve) => busy.listen(first.kube, '127.0.0.1', resolve));
    expect(await choosePorts(path, { port: 0, isTls: false })).toEqual(first);
    expect((await choosePorts(path, { port: 18470, isTls: false })).rest).toBe(18470);
    // a requested port that was taken must not be kept
    expect((await choosePorts(path, { port: 0, isTls: false })).rest).toBe(first.rest);
    await new Promise((resolve) => busy.close(resolve));
  });
});
