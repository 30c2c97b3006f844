import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#lib/time';
import { type ImageEntries, type ImageEntry, readImageEntries } from './image-entries.js';
import { lockStore } from './store-lock.js';

const MAX_HISTORY = 20;

/** `index.json`: what each name means now. Readers see the old or the new file, never a half. */
export class ImageIndex {
  readonly #folder: string;
  readonly #clock: Clock;

  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  read(): Promise<ImageEntries> {
    return readImageEntries(this.#folder);
  }

  async find(name: string): Promise<ImageEntry | undefined> {
    const images = await this.read();
    return Object.hasOwn(images, name) ? images[name] : undefined;
  }

  /**
   * Points a name to a digest; the same digest again changes nothing.
   * @param namespaces those that have the name from then on; undefined for all
   * @param decide who has the name after this, given what it was before; asked again under the lock
   * @throws Error when that is not `namespaces` any more, and what `decide` throws
   */
  async set(
    name: string,
    digest: string,
    namespaces: readonly string[] | undefined,
    decide: (before: ImageEntry | undefined) => readonly string[] | undefined,
  ): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const release = await lockStore(this.#folder, this.#clock);
    try {
      const before = await this.find(name);
      if (!isSame(decide(before), namespaces))
        throw new Error(`adding image ${name}: another process gave it other workspaces; run the same again`);
      const isKnown = before?.digest === digest;
      if (isKnown && isSame(before.namespaces, namespaces)) return;
      const history = [
        ...(before && !isKnown ? [{ digest: before.digest, importedAt: before.importedAt }] : []),
        ...(before?.history ?? []),
      ];
      const entry: ImageEntry = {
        digest,
        importedAt: isKnown ? before.importedAt : this.#clock.now().toISOString(),
        ...(namespaces ? { namespaces } : {}),
        ...(history.length > 0 ? { history: history.slice(0, MAX_HISTORY) } : {}),
      };
      const partial = join(this.#folder, `.index-${process.pid}.json`);
      const images = { ...(await this.read()), [name]: entry };
      await writeFile(partial, `${JSON.stringify({ images }, null, 2)}\n`, { mode: 0o600 });
      await rename(partial, join(this.#folder, 'index.json'));
    } finally {
      await release();
    }
  }
}

function isSame(one: readonly string[] | undefined, other: readonly string[] | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
