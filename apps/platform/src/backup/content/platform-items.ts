import { lstat, open, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { DataPaths } from '#lib/data-folder';
import { noBody, type TarItem } from '#lib/tar';
import { FILES, isDraft, isOfImages } from './part-entries.js';

/** Returns true for names of a folder that are left out; asked with the path from the root. */
export type LeavesOut = (path: string) => boolean;

/**
 * Files, folders and links below a root, in order of their names, under their paths from there. Files that
 * disappear while it is read are left out; a file that grows is read to the length that it had.
 */
async function* folderItems(root: string, path: string, leavesOut: LeavesOut): AsyncGenerator<TarItem> {
  const whole = join(root, path);
  const found = await lstat(whole).catch(ifMissing);
  if (!found || leavesOut(path)) return;
  const base = { path, mode: found.mode & 0o7777, modifiedMs: found.mtimeMs };
  if (found.isDirectory()) {
    yield { entry: { ...base, kind: 'folder', bytes: 0 }, body: noBody() };
    const names = (await readdir(whole).catch(ifMissing)) ?? [];
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
  const handle = await open(whole, 'r').catch(ifMissing);
  if (!handle) return;
  try {
    const { size } = await handle.stat();
    const body = size === 0 ? noBody() : handle.createReadStream({ autoClose: false, end: size - 1 });
    yield { entry: { ...base, kind: 'file', bytes: size }, body };
  } finally {
    await handle.close();
  }
}

/** Bytes of all files of some items, none of which is read. */
export async function sumOfFiles(items: AsyncIterable<TarItem>): Promise<number> {
  let bytes = 0;
  for await (const { entry } of items) bytes += entry.bytes;
  return bytes;
}

function ifMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  return undefined;
}

/** The image store; its index first, since contents that it names are older than it. */
export async function* imageItems({ root }: DataPaths): AsyncGenerator<TarItem> {
  yield* folderItems(root, 'images/index.json', () => false);
  yield* folderItems(root, 'images', (path) => path === 'images/index.json' || !isOfImages(path));
}

/** Keys, passwords, addresses and the identity of the node; none of its pods. */
export async function* fileItems({ root }: DataPaths): AsyncGenerator<TarItem> {
  for (const name of FILES) yield* folderItems(root, name, isDraft);
  const node = await readdir(join(root, 'node'), { withFileTypes: true }).catch(() => []);
  for (const entry of node) if (entry.isFile()) yield* folderItems(root, `node/${entry.name}`, isDraft);
}

/** The audit log, current and rotated files. */
export async function* auditItems({ root, logs }: DataPaths): AsyncGenerator<TarItem> {
  const names = await readdir(logs).catch(() => []);
  for (const name of names.sort())
    if (name.startsWith('audit')) yield* folderItems(root, `logs/${name}`, () => false);
}
