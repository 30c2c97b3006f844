import type { FileHandle } from 'node:fs/promises';
import { stat, utimes } from 'node:fs/promises';
import { listObjects } from './object-listing.js';
import { type ObjectFacts, ObjectFiles } from './object-files.js';
import { StoreFolder } from './store-folder.js';
import { writeNewFile } from './written-file.js';

/** An object with its bytes; the reader closes the handle. */
export interface OpenedObject extends ObjectFacts {
  readonly size: number;
  readonly lastModified: Date;
  readonly handle: FileHandle;
}

export interface ObjectName {
  readonly bucket: string;
  readonly key: string;
}

const PAGE = 1_000;

/**
 * The objects in the folder of a store, without a server: reading goes beside one that runs, since objects are whole or
 * not there; writing is for a folder that no server owns.
 */
export class StoredObjects {
  readonly #folder: StoreFolder;
  readonly #files: ObjectFiles;

  constructor(folder: string) {
    this.#folder = new StoreFolder(folder);
    this.#files = new ObjectFiles(this.#folder);
  }

  /** Buckets in order. */
  async buckets(): Promise<readonly string[]> {
    return (await this.#folder.listBuckets()).map(({ name }) => name).sort();
  }

  /** Objects of all buckets in order, with the size and the time of change (of bytes or name) of their files. */
  async *list(
    after?: ObjectName,
  ): AsyncGenerator<ObjectName & { readonly size: number; readonly changedAt: Date }> {
    for (const bucket of await this.buckets()) {
      if (after && bucket < after.bucket) continue;
      let last: string | undefined = bucket === after?.bucket ? after.key : '';
      while (last !== undefined) {
        const query = { prefix: '', delimiter: '', after: last, maxKeys: PAGE };
        const page = await listObjects(this.#folder.bucketPath(bucket), query);
        for (const { key, path } of page.objects) {
          const found = await stat(path).catch(() => undefined); // deleted since it was seen
          if (found) yield { bucket, key, size: found.size, changedAt: found.ctime };
        }
        last = page.next;
      }
    }
  }

  /** Undefined when it was deleted. */
  async open({ bucket, key }: ObjectName): Promise<OpenedObject | undefined> {
    const found = await this.#files.open(bucket, key);
    return found && { ...found.info, handle: found.handle };
  }

  async createBucket(bucket: string): Promise<void> {
    await this.#folder.createBucket(bucket);
  }

  /** Prepares the store once, before objects are written. */
  async prepare(): Promise<void> {
    await this.#folder.prepare();
  }

  /** Writes an object with its known metadata. */
  async write(
    { bucket, key }: ObjectName,
    { etag, headers, lastModified }: ObjectFacts & { readonly lastModified: Date },
    body: AsyncIterable<Buffer>,
  ): Promise<void> {
    await this.#folder.createBucket(bucket);
    const path = this.#folder.temporaryPath();
    await writeNewFile(path, body, true);
    await utimes(path, lastModified, lastModified);
    await this.#files.put(bucket, key, path, { etag, headers }, {});
  }
}
