import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#lib/time';
import { lockStore } from './store-lock.js';

/** Who opens an image. */
export interface ImageReader {
  readonly namespace: string;
  /** The group of its processes; undefined where these are of the platform's own user. */
  readonly gid: number | undefined;
}

/**
 * Contents that belong to namespaces, in `closed/`, which the platform's user alone can enter. Beside each of them stands
 * `sha256-HEX.json` with those that have it: what an index says that was lost or restored must open nothing. Processes
 * with a user of their own read a copy in `user-NUMBER/`, which only their group can enter; a folder has one group, and
 * one content may belong to several. Both lie as deep as one another, so that relative links mean the same in both.
 */
export class ClosedContents {
  readonly folder: string;
  readonly #store: string;
  readonly #clock: Clock;

  constructor(store: string, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.folder = join(store, 'closed');
  }

  folderOf(digest: string): string {
    return join(this.folder, digest.replace(':', '-'));
  }

  /** Gives a content to namespaces, beside those that have it. */
  async give(digest: string, namespaces: readonly string[]): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await chmod(this.folder, 0o700);
    const release = await lockStore(this.#store, this.#clock);
    try {
      const all = [...new Set([...(await this.#namespacesOf(digest)), ...namespaces])].sort();
      const partial = join(this.folder, `.access-${process.pid}.json`);
      await writeFile(partial, `${JSON.stringify({ namespaces: all })}\n`, { mode: 0o600 });
      await rename(partial, `${this.folderOf(digest)}.json`);
    } finally {
      await release();
    }
  }

  /** The folder in which a reader finds a content; undefined when its namespace has none such. */
  async open(digest: string, { namespace, gid }: ImageReader): Promise<string | undefined> {
    if (!(await this.#namespacesOf(digest)).includes(namespace)) return undefined;
    const kept = this.folderOf(digest);
    if (!existsSync(kept)) return undefined;
    return gid === undefined ? kept : this.#copyFor(gid, digest);
  }

  async #copyFor(gid: number, digest: string): Promise<string> {
    const room = join(this.#store, `user-${gid}`);
    const copy = join(room, digest.replace(':', '-'));
    // each time: a data folder that was moved or restored may have lost both
    await mkdir(room, { recursive: true, mode: 0o700 });
    await chown(room, process.getuid?.() ?? 0, gid);
    await chmod(room, 0o710);
    if (existsSync(copy)) return copy;
    const partial = join(this.folder, `.partial-${process.pid}-${randomBytes(4).toString('hex')}`);
    try {
      await cp(this.folderOf(digest), partial, { recursive: true, verbatimSymlinks: true });
      await rename(partial, copy).catch((error: unknown) => {
        if (!existsSync(copy)) throw error; // else another container of that user was faster
      });
    } finally {
      await rm(partial, { recursive: true, force: true });
    }
    return copy;
  }

  async #namespacesOf(digest: string): Promise<readonly string[]> {
    const path = `${this.folderOf(digest)}.json`;
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
    const { namespaces } = (JSON.parse(text) ?? {}) as { namespaces?: unknown };
    if (Array.isArray(namespaces)) return namespaces as readonly string[];
    throw new Error(`${path} names no namespaces: restore it, or remove it and add the image again`);
  }
}
