import { chmod, chown, lstat, mkdir, open, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import type { TarEntry, TarItem } from '#lib/tar';

export interface UnpackOptions {
  /** Root of all unpacked entries. */
  readonly root: string;
  /** Owner of the files; this process's user when absent. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
  /** Waits for each file to be on the disk. */
  readonly isDurable: boolean;
  /** New target of a link. */
  readonly moveLink?: (target: string) => string;
}

/**
 * Permitted bits of a mode: no set-user-id, which would give the rights of the owner here, and no write
 * access for everybody. An archive that was not made here may name any mode.
 */
const MODE_BITS = 0o755;

/**
 * Unpacks entries below a root. Links are made last, so that nothing is written through one of this archive;
 * an existing link is not followed either, wherever it is in a path.
 * @throws Error for a path that leads out of the root
 */
export async function unpack(items: AsyncIterable<TarItem>, options: UnpackOptions): Promise<void> {
  const links: TarEntry[] = [];
  const folders: TarEntry[] = [];
  const room = new Room(options);
  for await (const { entry, body } of items) {
    const path = pathIn(options.root, entry.path);
    if (entry.kind === 'link') links.push(entry);
    else if (entry.kind === 'folder') {
      await room.makeFolder(path);
      folders.push(entry);
    } else {
      await room.makeFolder(dirname(path));
      await writeFile(path, entry.mode, body, options);
    }
  }
  for (const { path, target = '' } of links) {
    const whole = pathIn(options.root, path);
    await room.makeFolder(dirname(whole));
    await rm(whole, { force: true });
    await symlink(options.moveLink?.(target) ?? target, whole);
  }
  // last: a folder may be one that its owner may not write to
  for (const { path, mode } of folders) await chmod(pathIn(options.root, path), mode & MODE_BITS);
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

/** The folders of one archive. */
class Room {
  /** Paths that are folders and no links, for as long as the archive is unpacked. */
  readonly #made = new Set<string>();

  constructor(private readonly options: UnpackOptions) {}

  /** Looks at every part of the path: asked of the whole path, the system follows links of the parts before. */
  async makeFolder(path: string): Promise<void> {
    const { owner, root } = this.options;
    if (this.#made.has(path)) return;
    if (path !== root) await this.makeFolder(dirname(path));
    // the root is the operator's, and may be a link
    const found = await (path === root ? stat(path) : lstat(path)).catch(() => undefined);
    if (found && !found.isDirectory())
      throw new Error(
        `${path} is no folder, and the archive has something in it; the archive was not made by "agentplane backup"`,
      );
    if (!found) {
      await mkdir(path, { mode: 0o700 });
      if (owner) await chown(path, owner.uid, owner.gid);
    }
    this.#made.add(path);
  }
}

async function writeFile(
  path: string,
  mode: number,
  body: AsyncIterable<Buffer>,
  { owner, isDurable }: UnpackOptions,
): Promise<void> {
  // in place of the existing entry, which may be a link
  await rm(path, { force: true });
  const handle = await open(path, 'wx', 0o600);
  try {
    for await (const piece of body) await handle.writeFile(piece);
    await handle.chmod(mode & MODE_BITS);
    if (owner) await handle.chown(owner.uid, owner.gid);
    if (isDurable) await handle.sync();
  } finally {
    await handle.close();
  }
}
