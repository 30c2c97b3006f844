import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProcess } from '#lib/process-identity';
import type { Clock } from '#lib/time';
import { type ImageEntries, type ImageEntry, readImageEntries } from './image-entries.js';

const MAX_HISTORY = 20;
const LOCK_PATIENCE_MS = 5_000;

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

  /** Points a name to a digest; the same digest again changes nothing. */
  async set(name: string, digest: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const release = await this.#lock();
    try {
      const images = await this.read();
      const before = Object.hasOwn(images, name) ? images[name] : undefined;
      if (before?.digest === digest) return;
      const history = before
        ? [{ digest: before.digest, importedAt: before.importedAt }, ...(before.history ?? [])]
        : [];
      const entry: ImageEntry = {
        digest,
        importedAt: this.#clock.now().toISOString(),
        ...(history.length > 0 ? { history: history.slice(0, MAX_HISTORY) } : {}),
      };
      const partial = join(this.#folder, `.index-${process.pid}.json`);
      await writeFile(partial, `${JSON.stringify({ images: { ...images, [name]: entry } }, null, 2)}\n`, {
        mode: 0o600,
      });
      await rename(partial, join(this.#folder, 'index.json'));
    } finally {
      await release();
    }
  }

  /** `up` and `image add` may write at the same time. The lock of a process that has ended does not count. */
  async #lock(): Promise<() => Promise<void>> {
    const path = join(this.#folder, '.index.lock');
    const deadline = this.#clock.monotonicMs() + LOCK_PATIENCE_MS;
    for (;;) {
      try {
        const file = await open(path, 'wx');
        await file.writeFile(String(process.pid));
        await file.close();
        return () => rm(path, { force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const holder = Number(await readFile(path, 'utf8').catch(() => ''));
      if (holder > 0 && !findProcess(holder)) await rm(path, { force: true });
      else if (this.#clock.monotonicMs() > deadline)
        throw new Error(`${path} is locked by process ${holder}; try again when it has ended`);
      else await this.#clock.sleep(20);
    }
  }
}
