import { type ObjectName, type OpenedObject, StoredObjects } from '#lib/embedded-object-store';
import { noBody, type TarItem } from '#lib/tar';

/** Facts about an object for which its tar entry has no field, as JSON in its note. */
interface ObjectNote extends ObjectName {
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
  /** ISO 8601. */
  readonly lastModified: string;
}

type ListedObject = ObjectName & { readonly size: number };

/** Objects of a store as entries, in portions. */
export class ObjectItems {
  #next: ListedObject | undefined;
  #buckets: readonly string[] | undefined;
  #last: ObjectName | undefined;

  private constructor(
    private readonly objects: StoredObjects,
    private readonly listed: AsyncIterator<ListedObject>,
  ) {}

  /**
   * @param folder of the store, which may be served meanwhile
   * @param after an earlier portion ended with it; without it the buckets come first
   * @param since leaves out objects that were not changed since then
   */
  static async begin(
    folder: string,
    after: ObjectName | undefined,
    since: Date | undefined,
  ): Promise<ObjectItems> {
    const objects = new StoredObjects(folder);
    const items = new ObjectItems(objects, changedSince(objects, after, since));
    if (!after) items.#buckets = await objects.buckets();
    await items.#step();
    return items;
  }

  /** True when another portion would have entries. */
  get hasMore(): boolean {
    return this.#next !== undefined || this.#buckets !== undefined;
  }

  /** The last object that was given. */
  get last(): ObjectName | undefined {
    return this.#last;
  }

  /** Objects until they have so many bytes together. */
  async *portion(bytes: number): AsyncGenerator<TarItem> {
    for (const bucket of this.#buckets ?? [])
      yield {
        entry: { kind: 'folder', path: bucket, mode: 0o700, bytes: 0, modifiedMs: 0 },
        body: noBody(),
      };
    this.#buckets = undefined;
    let given = 0;
    while (this.#next && given < bytes) {
      const name: ObjectName = { bucket: this.#next.bucket, key: this.#next.key };
      const found = await this.objects.open(name);
      if (found) {
        try {
          yield itemOf(name, found);
          given += found.size;
        } finally {
          await found.handle.close();
        }
      }
      this.#last = name;
      await this.#step();
    }
  }

  async #step(): Promise<void> {
    const { done, value } = await this.listed.next();
    this.#next = done ? undefined : value;
  }
}

async function* changedSince(
  objects: StoredObjects,
  after: ObjectName | undefined,
  since: Date | undefined,
): AsyncGenerator<ListedObject> {
  for await (const found of objects.list(after)) if (!since || found.changedAt >= since) yield found;
}

function itemOf(name: ObjectName, { etag, headers, lastModified, size, handle }: OpenedObject): TarItem {
  const note: ObjectNote = { ...name, etag, headers, lastModified: lastModified.toISOString() };
  return {
    entry: {
      kind: 'file',
      path: `${name.bucket}/${name.key}`,
      mode: 0o600,
      bytes: size,
      modifiedMs: lastModified.getTime(),
      note: JSON.stringify(note),
    },
    // the handle is the owner's
    body:
      size === 0
        ? noBody()
        : handle.createReadStream({ autoClose: false, highWaterMark: 1 << 20, end: size - 1 }),
  };
}

/** Bytes of all objects. */
export async function sumOfObjects(folder: string, since?: Date): Promise<number> {
  let bytes = 0;
  for await (const { size } of changedSince(new StoredObjects(folder), undefined, since)) bytes += size;
  return bytes;
}

/** Writes the entries of a part into the folder of a store that is not being served. */
export async function restoreObjects(folder: string, items: AsyncIterable<TarItem>): Promise<void> {
  const objects = new StoredObjects(folder);
  await objects.prepare();
  for await (const { entry, body } of items) {
    if (entry.kind === 'folder') await objects.createBucket(entry.path);
    if (entry.kind !== 'file') continue;
    const { bucket, key, etag, headers, lastModified } = JSON.parse(entry.note ?? '{}') as ObjectNote;
    await objects.write({ bucket, key }, { etag, headers, lastModified: new Date(lastModified) }, body);
  }
}
