import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '#lib/testing';
import { noBody, type TarEntry, type TarItem } from '#lib/tar';
import { unpack } from './restore-backup.js';

const entry = (kind: TarEntry['kind'], path: string, more: Partial<TarEntry> = {}): TarEntry => ({
  kind,
  path,
  mode: kind === 'folder' ? 0o750 : 0o640,
  bytes: 0,
  modifiedMs: 0,
  ...more,
});

async function* items(...entries: readonly TarEntry[]): AsyncGenerator<TarItem> {
  for (const one of entries) yield { entry: one, body: noBody() };
}

describe('unpack', () => {
  const folder = temporaryFolder();

  it('makes files, folders and links with their modes, and moves links', async () => {
    const root = join(folder, 'whole');
    mkdirSync(root);
    const all = items(
      entry('folder', 'images'),
      entry('file', 'images/index.json'),
      entry('link', 'images/node_modules', { target: '/old/node_modules' }),
    );
    const moveLink = (target: string): string => target.replace('/old', '/new');
    await unpack(all, { root, isDurable: true, moveLink });
    expect(lstatSync(join(root, 'images')).mode & 0o777).toBe(0o750);
    expect(lstatSync(join(root, 'images/index.json')).mode & 0o777).toBe(0o640);
    expect(readlinkSync(join(root, 'images/node_modules'))).toBe('/new/node_modules');
  });

  it.each(['../outside', 'a/../../outside', '/outside', '..'])('refuses the path %s', async (path) => {
    const root = join(folder, 'closed');
    mkdirSync(root, { recursive: true });
    const refused = unpack(items(entry('file', path)), { root, isDurable: false });
    await expect(refused).rejects.toThrow('leads out of the folder');
    expect(existsSync(join(folder, 'outside'))).toBe(false);
  });

  it('writes nothing through a link of the archive', async () => {
    const root = join(folder, 'linked');
    const elsewhere = join(folder, 'elsewhere');
    for (const path of [root, elsewhere]) mkdirSync(path);
    const all = items(entry('link', 'way', { target: elsewhere }), entry('file', 'way/file'));
    await expect(unpack(all, { root, isDurable: false })).rejects.toThrow();
    expect(existsSync(join(elsewhere, 'file'))).toBe(false);
    expect(readFileSync(join(root, 'way/file'), 'utf8')).toBe('');
  });

  it('follows no link that an earlier part of the backup left', async () => {
    const root = join(folder, 'parts');
    const elsewhere = join(folder, 'home');
    for (const path of [root, elsewhere, join(elsewhere, 'deep')]) mkdirSync(path);
    writeFileSync(join(elsewhere, 'file'), 'mine');
    const links = [
      entry('link', 'way', { target: elsewhere }),
      entry('link', 'file', { target: join(elsewhere, 'file') }),
    ];
    await unpack(items(...links), { root, isDurable: false });
    await unpack(items(entry('file', 'file')), { root, isDurable: false });
    expect(lstatSync(join(root, 'file')).isFile()).toBe(true);
    expect(readFileSync(join(elsewhere, 'file'), 'utf8')).toBe('mine');
    const below = unpack(items(entry('file', 'way/deep/key')), { root, isDurable: false });
    await expect(below).rejects.toThrow('is no folder');
    expect(existsSync(join(elsewhere, 'deep/key'))).toBe(false);
  });

  it('drops set-user-id and the right of others to write', async () => {
    const root = join(folder, 'modes');
    mkdirSync(root);
    const all = items(entry('folder', 'open', { mode: 0o1777 }), entry('file', 'open/run', { mode: 0o4777 }));
    await unpack(all, { root, isDurable: false });
    for (const path of ['open', 'open/run']) expect(statSync(join(root, path)).mode & 0o7777).toBe(0o755);
  });
});
