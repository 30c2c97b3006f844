import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#lib/time';
import { type ClosedContents, GIVEN_LATELY_MS } from './closed-contents.js';
import { type ImageIndex, namedBy } from './image-index.js';
import { partialPath, removePartials } from './partial-folder.js';
import { removeTree } from './remove-tree.js';
import { lockStore } from './store-lock.js';

/** Others wait for the lock meanwhile. */
const AT_ONCE = 100;
const CONTENT = /^sha256-[0-9a-f]{64}$/;
const USER = /^user-\d+$/;

export interface RemovalPlaces {
  readonly folder: string;
  readonly index: ImageIndex;
  readonly closed: ClosedContents;
  readonly clock: Clock;
}

/**
 * Removes contents from a store: their folders, who has them, and the copies for users of pods. Only what a build of this
 * cluster left, or lost its last name: an index that was lost or restored makes nothing unwanted.
 */
export class ContentRemoval {
  readonly #places: RemovalPlaces;

  constructor(places: RemovalPlaces) {
    this.#places = places;
  }

  /**
   * Digests that nothing in the store keeps. Something outside may: revisions of the cluster, and pods.
   * @param cluster whose builds are meant
   */
  async listUnnamed(cluster: string): Promise<readonly string[]> {
    const { folder, closed } = this.#places;
    for (const place of [folder, closed.folder]) await removePartials(place);
    return await this.#unnamed(cluster);
  }

  async #unnamed(cluster: string): Promise<readonly string[]> {
    const { index, closed, clock } = this.#places;
    const lately = clock.now().getTime() - GIVEN_LATELY_MS;
    const access = await closed.list();
    const built = [...access]
      .filter(([, { built: note }]) => note?.cluster === cluster && Date.parse(note.at) < lately)
      .map(([digest]) => digest);
    const copied = (await this.#copies()).map(({ digest }) => digest);
    const left = copied.filter((one) => !access.has(one) && !existsSync(closed.folderOf(one)));
    const named = namedBy(await index.read());
    return [...new Set([...built, ...left, ...(await index.released())])].filter((one) => !named.has(one));
  }

  /**
   * Removes contents. Those that were named, or given again by a build, since they were listed, stay.
   * @returns the digests that were removed
   */
  async remove(digests: readonly string[], cluster: string): Promise<readonly string[]> {
    const { index, closed } = this.#places;
    if (digests.length === 0) return [];
    await closed.make();
    const left: string[] = [];
    try {
      const removed = await this.#take(digests, cluster, left);
      await index.forget(new Set(removed));
      return removed;
    } finally {
      // also where the index cannot be written, as on a full disk: they carry the name of a process that runs
      for (const partial of left) await removeTree(partial);
    }
  }

  /** @param left gets paths that are not found by their name any more, and have to be removed */
  async #take(digests: readonly string[], cluster: string, left: string[]): Promise<readonly string[]> {
    const { folder, closed, clock } = this.#places;
    const release = await lockStore(folder, clock);
    try {
      const unnamed = new Set(await this.#unnamed(cluster));
      const removed = digests.filter((one) => unnamed.has(one)).slice(0, AT_ONCE);
      const copies = await this.#copies();
      for (const digest of removed) {
        const own = copies.filter((one) => one.digest === digest).map(({ path }) => path);
        const open = join(folder, digest.replace(':', '-'));
        for (const path of [open, closed.folderOf(digest), ...own].filter((one) => existsSync(one))) {
          const partial = partialPath(closed.folder);
          await rename(path, partial);
          left.push(partial);
        }
        // last: a removal that is cut short before finds the content again by it
        await rm(`${closed.folderOf(digest)}.json`, { force: true });
      }
      return removed;
    } finally {
      await release();
    }
  }

  /** Copies that users of pods have of their own. */
  async #copies(): Promise<readonly { readonly digest: string; readonly path: string }[]> {
    const { folder } = this.#places;
    const users = existsSync(folder) ? (await readdir(folder)).filter((name) => USER.test(name)) : [];
    const found = await Promise.all(
      users.map(async (user) =>
        (await readdir(join(folder, user)))
          .filter((name) => CONTENT.test(name))
          .map((name) => ({ digest: name.replace('-', ':'), path: join(folder, user, name) })),
      ),
    );
    return found.flat();
  }
}
