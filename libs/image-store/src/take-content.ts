import { createHash, type Hash } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, opendir, readlink, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { TerminalError } from '#lib/errors';
import { GRAPH_TYPES_FILE } from '#lib/graph-configuration';
import { GRAPH_SOURCES_FILE } from '#lib/graph-sources';
import { REASON } from '#lib/resources';
import { leadsOut, writeEntry } from './copy-content.js';

/**
 * Names that are never a part of an image; packages are, since the builder of the folder installed them for
 * it alone.
 */
const LEFT_OUT = new Set(['.git']);
/** Folder of which an image has no other files. */
const OWN = dirname(GRAPH_TYPES_FILE);
const KEPT = [GRAPH_TYPES_FILE, GRAPH_SOURCES_FILE].map((path) => basename(path));
const MAX_DEPTH = 100;
const CHUNK = 256 * 1024;
/** Approximate size of an entry on disk beside its bytes. */
const BLOCK = 4096;
/** A pipe is opened without waiting for its other end, and refused then. */
const SAFELY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Limits of what may be taken. */
export interface TakeLimits {
  readonly maxBytes: number;
  readonly maxEntries: number;
}

/**
 * Copies a folder of an untrusted owner, who may still change it, and answers the digest of the copy (as
 * `copyContent` has it). Each name is opened in a folder that is open already and is never followed, so that
 * no link leads the platform, which may be root, to files of others; an entry of another owner than the
 * folder's is refused, since it may be a second name of such a file.
 * @returns `sha256:HEX`, and the bytes that it takes: of its files, and a block for each entry
 * @throws TerminalError for anything but files, folders and links that stay inside, and beyond the limits
 */
export async function takeContent(
  source: string,
  target: string,
  limits: TakeLimits,
): Promise<{ readonly digest: string; readonly bytes: number }> {
  const root = await open(source, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY);
  try {
    const taking = new Taking(source, limits, (await root.stat()).uid);
    await taking.folder(root, source, target, '', 0);
    return { digest: `sha256:${taking.hash.digest('hex')}`, bytes: taking.bytes };
  } finally {
    await root.close();
  }
}

class Taking {
  readonly hash: Hash = createHash('sha256');
  #bytes = 0;
  #entries = 0;

  constructor(
    private readonly root: string,
    private readonly limits: TakeLimits,
    private readonly owner: number,
  ) {}

  get bytes(): number {
    return this.#bytes + this.#entries * BLOCK;
  }

  async folder(handle: FileHandle, from: string, to: string, path: string, depth: number): Promise<void> {
    if (depth > MAX_DEPTH) throw refused(`${path} lies deeper than ${MAX_DEPTH} folders`);
    await mkdir(to, { recursive: true });
    await chmod(to, 0o755);
    const here = placeOf(handle, from);
    const names = await this.#names(here);
    for (const name of basename(from) === OWN ? names.filter((one) => KEPT.includes(one)) : names) {
      const inner = path === '' ? name : `${path}/${name}`;
      await this.#entry(join(here, name), join(from, name), join(to, name), inner, depth);
    }
  }

  /** Sorted. A folder may have more names than fit into memory: each is counted as it is read. */
  async #names(folder: string): Promise<readonly string[]> {
    const names: string[] = [];
    for await (const { name } of await opendir(folder)) {
      if (LEFT_OUT.has(name)) continue;
      this.#entries++;
      if (this.#entries > this.limits.maxEntries)
        throw refused(`it has more than ${this.limits.maxEntries} files and folders`);
      names.push(name);
    }
    return names.sort();
  }

  /** @param at the name in its open folder; @param from where it lies by its path */
  async #entry(at: string, from: string, to: string, path: string, depth: number): Promise<void> {
    let handle: FileHandle;
    try {
      handle = await open(at, SAFELY);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ELOOP') return await this.#link(at, from, to, path);
      throw refused(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`);
    }
    try {
      const found = await handle.stat();
      if (found.uid !== this.owner) throw refused(`${path} belongs to another user`);
      if (found.isDirectory()) await this.folder(handle, from, to, path, depth + 1);
      else if (found.isFile()) await this.#file(handle, found, to, path);
      else throw refused(`${path} is neither a file, a folder nor a link`);
    } finally {
      await handle.close();
    }
  }

  async #link(at: string, from: string, to: string, path: string): Promise<void> {
    const goal = await readlink(at);
    if (leadsOut(goal, join(from, '..'), this.root))
      throw refused(`the link ${path} leads out of the repository, to ${goal}`);
    await symlink(goal, to);
    writeEntry(this.hash, 'link', path, Buffer.byteLength(goal));
    this.hash.update(goal);
  }

  /** Copies a file and hashes the very bytes that are written: neither is read again. */
  async #file(
    handle: FileHandle,
    { size, mode }: { readonly size: number; readonly mode: number },
    to: string,
    path: string,
  ): Promise<void> {
    this.#bytes += size;
    if (this.#bytes > this.limits.maxBytes)
      throw refused(`it has more than ${Math.floor(this.limits.maxBytes / 1_048_576)} MB`);
    const isExecutable = (mode & 0o111) !== 0;
    writeEntry(this.hash, isExecutable ? 'executable' : 'file', path, size);
    const copy = await open(to, 'wx', isExecutable ? 0o755 : 0o644);
    try {
      const chunk = Buffer.alloc(Math.min(CHUNK, size));
      for (let left = size; left > 0;) {
        const { bytesRead } = await handle.read(chunk, 0, Math.min(chunk.length, left));
        if (bytesRead === 0) throw refused(`${path} was changed while it was copied`);
        const read = chunk.subarray(0, bytesRead);
        this.hash.update(read);
        await copy.write(read);
        left -= bytesRead;
      }
      // the mode is set explicitly, since the umask of the platform may remove bits
      await copy.chmod(isExecutable ? 0o755 : 0o644);
    } finally {
      await copy.close();
    }
  }
}

/** The folder that is open, whatever its path leads to meanwhile; its path where there is no /proc, and no other users. */
function placeOf(handle: FileHandle, path: string): string {
  const open = `/proc/self/fd/${handle.fd}`;
  return existsSync(open) ? open : path;
}

function refused(what: string): TerminalError {
  return new TerminalError(REASON.buildRefused, `the result of the build cannot become an image: ${what}`);
}
