import { createHash, type Hash } from 'node:crypto';
import { copyFile, chmod, lstat, mkdir, readdir, readFile, readlink, symlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { TerminalError } from '#lib/errors';
import { NOT_CONTENT } from './secret-files.js';

type LeavesOut = (path: string) => boolean;

interface Copying {
  readonly root: string;
  readonly hash: Hash;
  readonly leavesOut: LeavesOut;
}

/**
 * Copies a folder and answers the digest of what was copied: over the sorted relative paths, the executable bits and
 * the bytes. Owners, times and other mode bits do not count, so that a checkout gives the same digest everywhere.
 * @param leavesOut is asked about each path in the folder
 * @returns `sha256:HEX`
 * @throws TerminalError for a symbolic link that leaves the folder, and for sockets and devices
 */
export async function copyContent(
  source: string,
  target: string,
  leavesOut: LeavesOut = () => false,
): Promise<string> {
  const hash = createHash('sha256');
  await makeFolder(target);
  await copyFolder(source, target, { root: source, hash, leavesOut });
  return `sha256:${hash.digest('hex')}`;
}

/** Agents may be other users than the platform; the store's own folder keeps all others out. */
async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await chmod(path, 0o755);
}

async function copyFolder(from: string, to: string, copying: Copying): Promise<void> {
  const names = (await readdir(from)).filter((name) => !NOT_CONTENT.includes(name)).sort();
  for (const name of names) await copyEntry(join(from, name), join(to, name), copying);
}

async function copyEntry(from: string, to: string, copying: Copying): Promise<void> {
  const { root, hash, leavesOut } = copying;
  const path = relative(root, from);
  if (leavesOut(path)) return;
  const found = await lstat(from);
  if (found.isDirectory()) {
    await makeFolder(to);
    await copyFolder(from, to, copying);
  } else if (found.isFile()) {
    const isExecutable = (found.mode & 0o111) !== 0;
    // hashed from the copy: what counts is what will run, even if the source is edited meanwhile
    await copyFile(from, to);
    await chmod(to, isExecutable ? 0o755 : 0o644);
    const bytes = await readFile(to);
    writeEntry(hash, isExecutable ? 'executable' : 'file', path, bytes.length);
    hash.update(bytes);
  } else if (found.isSymbolicLink()) {
    const goal = await readlink(from);
    if (leadsOut(goal, dirname(from), root))
      throw new TerminalError('LinkLeavesImage', `the link ${path} leads out of the folder, to ${goal}`);
    await symlink(goal, to);
    writeEntry(hash, 'link', path, Buffer.byteLength(goal));
    hash.update(goal);
  } else {
    throw new TerminalError('NotAFile', `${path} is neither a file, a folder nor a link`);
  }
}

/**
 * An absolute goal would stay in the folder that was copied. A step up behind a name could leave through another link:
 * `a/..` is somewhere else when `a` is one.
 */
export function leadsOut(goal: string, folder: string, root: string): boolean {
  const steps = goal.split(/[\\/]/).filter((step) => step !== '' && step !== '.');
  const firstName = steps.findIndex((step) => step !== '..');
  const isWinding = firstName >= 0 && steps.slice(firstName).includes('..');
  const [first] = relative(root, resolve(folder, goal)).split(/[\\/]/);
  return isAbsolute(goal) || isWinding || first === '..';
}

/**
 * Writes the header of an entry before its bytes: it has their length, so that no two different trees give
 * the same stream.
 */
export function writeEntry(
  hash: Hash,
  kind: 'file' | 'executable' | 'link',
  path: string,
  length: number,
): void {
  const name = path.split('\\').join('/');
  hash.update(`${kind} ${Buffer.byteLength(name)} ${length} ${name}\n`);
}
