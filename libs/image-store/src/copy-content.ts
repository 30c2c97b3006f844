import { createHash, type Hash } from 'node:crypto';
import { type Dirent, existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, readdir, readFile, readlink, symlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { TerminalError } from '#lib/errors';

/** Names that are never a part of an image: what installs and tools make beside the sources, and histories. */
export const NOT_CONTENT: readonly string[] = [
  'node_modules',
  '.git',
  '.agentplane',
  '.venv',
  '__pycache__',
  '.pytest_cache',
  '.mypy_cache',
  '.ruff_cache',
];

/** Settings of package managers that may hold the token of a registry, and are needed to install. */
export const INSTALL_SETTINGS: readonly string[] = ['.npmrc', '.yarnrc', '.yarnrc.yml'];

/** Names of files and folders that tend to hold secrets; `*` matches any letters. */
export const SECRET_FILES: readonly string[] = [
  '.env',
  '.env.*',
  '.envrc',
  ...INSTALL_SETTINGS,
  '.pypirc',
  '.netrc',
  '_netrc',
  '.git-credentials',
  '.pgpass',
  '.vault-token',
  '.htpasswd',
  '.aws',
  '.azure',
  '.docker',
  '.gnupg',
  '.kube',
  '.ssh',
  'id_rsa',
  'id_dsa',
  'id_ecdsa',
  'id_ed25519',
  '*.key',
  '*.p12',
  '*.pfx',
  '*.jks',
  '*.keystore',
];

/** Names that the list above has, and that show how a file looks, without its values. */
export const SECRET_EXAMPLES: readonly string[] = ['.env.example', '.env.sample', '.env.template'];

const IS_SECRET = new RegExp(
  `^(${SECRET_FILES.map((name) => name.replaceAll('.', '\\.').replaceAll('*', '.*')).join('|')})$`,
);

/** True when a file or folder of this name is never a part of an image, or tends to hold secrets. */
export function isLeftOut(name: string): boolean {
  return NOT_CONTENT.includes(name) || IS_SECRET.test(name);
}

/** Maximum number of names in a message. */
const MOST = 20;

/**
 * Entries of a folder; empty for one that this user may not read, such as that of a database: it is no part
 * of an image either.
 */
function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return [];
    throw error;
  }
}

/**
 * Paths of what tends to hold secrets in a folder of sources, sorted, the first twenty; a folder of such a name counts as
 * one.
 */
export function findSecretFiles(folder: string): readonly string[] {
  const found: string[] = [];
  const look = (path: string): void => {
    for (const entry of entriesOf(join(folder, path))) {
      const { name } = entry;
      if (NOT_CONTENT.includes(name)) continue;
      const inner = path === '' ? name : `${path}/${name}`;
      if (IS_SECRET.test(name) && !SECRET_EXAMPLES.includes(name)) found.push(inner);
      else if (entry.isDirectory()) look(inner);
    }
  };
  look('');
  return found.sort().slice(0, MOST);
}

/**
 * Decides which files of a folder an image leaves out, since they tend to hold secrets. Settings that packages are
 * installed with stay, and those that a line `!PATH` of its .dockerignore names.
 */
export function secretsLeftOut(folder: string): (path: string) => boolean {
  const ignoring = join(folder, '.dockerignore');
  const lines = existsSync(ignoring) ? readFileSync(ignoring, 'utf8').split(/\r?\n/) : [];
  const wanted = new Set(lines.flatMap((line) => (line.startsWith('!') ? [line.slice(1).trim()] : [])));
  return (path) => {
    const name = path.split('/').at(-1) ?? path;
    if (!IS_SECRET.test(name) || SECRET_EXAMPLES.includes(name) || INSTALL_SETTINGS.includes(name))
      return false;
    return !wanted.has(path) && !wanted.has(name) && !wanted.has(`**/${name}`);
  };
}

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
