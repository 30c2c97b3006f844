import { lstat, open, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissingFile, unless } from '#lib/errors';
import { noBody, type TarItem } from './tar-entry.js';

/** Returns true for names of a folder that are left out; asked with the path from the root. */
export type LeavesOut = (path: string) => boolean;

/**
 * Files, folders and links below a root, in order of their names, under their paths from there. Files that
 * disappear while it is read are left out; a file that grows is read to the length that it had.
 */
export async function* folderItems(
  root: string,
  path: string,
  leavesOut: LeavesOut = () => false,
): AsyncGenerator<TarItem> {
  const whole = join(root, path);
  const found = await lstat(whole).catch(unless(isMissingFile));
  if (!found || leavesOut(path)) return;
  const base = { path, mode: found.mode & 0o7777, modifiedMs: found.mtimeMs };
  if (found.isDirectory()) {
    yield { entry: { ...base, kind: 'folder', bytes: 0 }, body: noBody() };
    const names = (await readdir(whole).catch(unless(isMissingFile))) ?? [];
    for (const name of names.sort()) yield* folderItems(root, `${path}/${name}`, leavesOut);
  } else if (found.isSymbolicLink()) {
    yield { entry: { ...base, kind: 'link', bytes: 0, target: await readlink(whole) }, body: noBody() };
  } else if (found.isFile()) {
    yield* fileItem(whole, base);
  }
}

async function* fileItem(
  whole: string,
  base: { readonly path: string; readonly mode: number; readonly modifiedMs: number },
): AsyncGenerator<TarItem> {
  const handle = await open(whole, 'r').catch(unless(isMissingFile));
  if (!handle) return;
  try {
    const { size } = await handle.stat();
    const body = size === 0 ? noBody() : handle.createReadStream({ autoClose: false, end: size - 1 });
    yield { entry: { ...base, kind: 'file', bytes: size }, body };
  } finally {
    await handle.close();
  }
}
