import { chmod, chown, lstat, mkdir, open, rm, symlink } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import type { TarEntry, TarItem } from '../archive/tar-entry.js';

export interface UnpackOptions {
  /** Everything comes to lie below it. */
  readonly root: string;
  /** Whose the files become; this process's user when absent. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
  /** Waits for each file to be on the disk. */
  readonly isDurable: boolean;
  /** Where a link leads from now on. */
  readonly moveLink?: (target: string) => string;
}

/**
 * Unpacks entries below a root. Links are made last, so that nothing is written through one.
 * @throws Error for a path that leads out of the root
 */
export async function unpack(items: AsyncIterable<TarItem>, options: UnpackOptions): Promise<void> {
  const links: TarEntry[] = [];
  const folders: TarEntry[] = [];
  for await (const { entry, body } of items) {
    const path = pathIn(options.root, entry.path);
    if (entry.kind === 'link') links.push(entry);
    else if (entry.kind === 'folder') {
      await makeFolder(path, options);
      folders.push(entry);
    } else {
      await makeFolder(dirname(path), options);
      await writeFile(path, entry.mode, body, options);
    }
  }
  for (const { path, target = '' } of links) {
    const whole = pathIn(options.root, path);
    await makeFolder(dirname(whole), options);
    await rm(whole, { force: true });
    await symlink(options.moveLink?.(target) ?? target, whole);
  }
  // last: a folder may be one that its owner may not write to
  for (const { path, mode } of folders) await chmod(pathIn(options.root, path), mode);
}

/** @throws Error when the path is not below the root */
function pathIn(root: string, path: string): string {
  const plain = normalize(path);
  if (plain.startsWith('/') || plain === '..' || plain.startsWith('../') || plain.includes('\0'))
    throw new Error(
      `${JSON.stringify(path)} leads out of the folder; the archive was not made by "agentplane backup"`,
    );
  return join(root, plain);
}

async function makeFolder(path: string, options: UnpackOptions): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isDirectory()) return;
  if (path !== options.root) await makeFolder(dirname(path), options);
  await mkdir(path, { mode: 0o700 });
  if (options.owner) await chown(path, options.owner.uid, options.owner.gid);
}

async function writeFile(
  path: string,
  mode: number,
  body: AsyncIterable<Buffer>,
  { owner, isDurable }: UnpackOptions,
): Promise<void> {
  const handle = await open(path, 'w', 0o600);
  try {
    for await (const piece of body) await handle.writeFile(piece);
    await handle.chmod(mode);
    if (owner) await handle.chown(owner.uid, owner.gid);
    if (isDurable) await handle.sync();
  } finally {
    await handle.close();
  }
}
