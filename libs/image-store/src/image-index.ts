import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#lib/time';
import { type ImageEntries, type ImageEntry, type IndexFile, readIndexFile } from './image-entries.js';
import { lockStore } from './store-lock.js';

const MAX_HISTORY = 20;

/** New content of a name. */
export interface NewMeaning {
  readonly digest: string;
  /** The folder of the content, which exists. */
  readonly folder: string;
  /** Namespaces that have the name from then on; undefined for all. */
  readonly namespaces: readonly string[] | undefined;
  /** Notes of the content; undefined for one that was there before. */
  readonly notes: readonly string[] | undefined;
  /**
   * Decides which namespaces have the name after this, given its former entry; asked again under the lock.
   */
  readonly decide: (before: ImageEntry | undefined) => readonly string[] | undefined;
}

/**
 * `index.json`: what each name means now, and which contents lost their last name. Readers see the old or the new file,
 * never a half.
 */
export class ImageIndex {
  constructor(
    private readonly folder: string,
    private readonly clock: Clock,
  ) {}

  async read(): Promise<ImageEntries> {
    return (await this.#file()).images;
  }

  /** Contents that lost their last name. */
  async released(): Promise<readonly string[]> {
    return (await this.#file()).released ?? [];
  }

  async find(name: string): Promise<ImageEntry | undefined> {
    const images = await this.read();
    return Object.hasOwn(images, name) ? images[name] : undefined;
  }

  /**
   * Points a name to a digest; the same digest again changes nothing.
   * @throws Error when its owners changed or the content was removed meanwhile, and the errors of `decide`
   */
  async set(name: string, { digest, folder, namespaces, notes: given, decide }: NewMeaning): Promise<void> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await this.#locked(async () => {
      const before = await this.find(name);
      if (!isSame(decide(before), namespaces))
        throw new Error(`adding image ${name}: another process gave it other workspaces; run the same again`);
      if (!existsSync(folder))
        throw new Error(`adding image ${name}: its content was removed meanwhile; run the same again`);
      const isKnown = before?.digest === digest;
      const notes = given ?? (isKnown ? before.notes : undefined) ?? [];
      if (isKnown && isSame(before.namespaces, namespaces) && given === undefined) return;
      const history = [
        ...(before && !isKnown ? [{ digest: before.digest, importedAt: before.importedAt }] : []),
        ...(before?.history ?? []),
      ];
      const entry: ImageEntry = {
        digest,
        importedAt: isKnown ? before.importedAt : this.clock.now().toISOString(),
        ...(namespaces ? { namespaces } : {}),
        ...(notes.length > 0 ? { notes } : {}),
        ...(history.length > 0 ? { history: history.slice(0, MAX_HISTORY) } : {}),
      };
      const { images } = await this.#file();
      await this.#write(
        { ...images, [name]: entry },
        history.slice(MAX_HISTORY).map((one) => one.digest),
      );
    });
  }

  /** Takes a name away, with what it meant before; undefined when it does not exist. */
  async remove(name: string): Promise<ImageEntry | undefined> {
    if (!(await this.find(name))) return undefined;
    return await this.#locked(async () => {
      const entry = await this.find(name);
      if (!entry) return undefined;
      const { [name]: _, ...others } = await this.read();
      await this.#write(others, digestsOf(entry));
      return entry;
    });
  }

  /** Forgets that contents lost their last name: they are removed. */
  async forget(digests: ReadonlySet<string>): Promise<void> {
    if (!(await this.released()).some((one) => digests.has(one))) return;
    await this.#locked(async () => {
      const { images, released = [] } = await this.#file();
      await this.#save({ images, released: released.filter((one) => !digests.has(one)) });
    });
  }

  /** @param left digests that may have lost their last name */
  async #write(images: ImageEntries, left: readonly string[]): Promise<void> {
    const { released = [] } = await this.#file();
    const named = namedBy(images);
    await this.#save({
      images,
      released: [...new Set([...released, ...left])].filter((one) => !named.has(one)),
    });
  }

  async #save({ images, released = [] }: IndexFile): Promise<void> {
    const file: IndexFile = { images, ...(released.length > 0 ? { released } : {}) };
    const partial = join(this.folder, `.index-${process.pid}.json`);
    await writeFile(partial, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
    await rename(partial, join(this.folder, 'index.json'));
  }

  #file(): Promise<IndexFile> {
    return readIndexFile(this.folder);
  }

  async #locked<T>(perform: () => Promise<T>): Promise<T> {
    const release = await lockStore(this.folder, this.clock);
    try {
      return await perform();
    } finally {
      await release();
    }
  }
}

/** The digests that names mean, or meant before. */
export function namedBy(images: ImageEntries): ReadonlySet<string> {
  return new Set(Object.values(images).flatMap(digestsOf));
}

function digestsOf({ digest, history = [] }: ImageEntry): readonly string[] {
  return [digest, ...history.map((one) => one.digest)];
}

function isSame(one: readonly string[] | undefined, other: readonly string[] | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
