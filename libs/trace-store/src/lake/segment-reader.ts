import { Admission } from '#lib/admission';
import { errorText, PublicError } from '#lib/errors';
import { type ObjectStore, ObjectStoreError } from '#lib/object-store';
import {
  checkTextPage,
  type ChunkPlace,
  decodeTextPage,
  PageIndex,
  type PagePlace,
  readPageIndex,
  TextPage,
} from '#lib/parquet';
import { PAYLOAD_FIELDS, type PayloadField, type RunPayloads } from '../run/stored-run.js';
import type { SealedGroups, Segment } from '../run/sealed-payloads.js';
import { BoundedCache } from './bounded-cache.js';

/** Default bytes of decoded pages and page indexes that are kept. */
const CACHE_BYTES = 64 << 20;
/** Pages of the next rows are read together up to so many bytes, decoded. */
const BAND_BYTES = 16 << 20;
/** Bytes between two pages that are read rather than asked for apart. */
const GAP_BYTES = 64 << 10;
/** Bytes of one request, exceeded by a single page alone. */
const REQUEST_BYTES = 8 << 20;
/** Requests at once, of all tenants: each holds what it reads and decodes. */
const REQUESTS = 4;
/** Longest request. A read holds a connection and a snapshot meanwhile. */
const TIMEOUT_MS = 20_000;
const RETRY_AFTER_SECONDS = 5;

/** The bucket of sealed days. */
export interface LakeStore {
  readonly store: ObjectStore;
  readonly bucket: string;
  /** Prefix of every key, without a slash at its end. */
  readonly prefix: string;
}

/** A page as it is in its file, with its header. */
interface CheckedPage {
  readonly place: PagePlace;
  readonly bytes: Buffer;
  /** Bytes before its compression, with its header. */
  readonly uncompressedBytes: number;
}

/** Reads payloads of sealed runs from their files. */
export class SegmentReader {
  readonly #lake: LakeStore;
  readonly #cache: BoundedCache<PageIndex | TextPage>;
  readonly #requests = new Admission({ capacity: REQUESTS });

  /** @param options `cacheBytes`: bytes of decoded pages that are kept for the next reads; default 64 MiB */
  constructor(lake: LakeStore, { cacheBytes = CACHE_BYTES }: { readonly cacheBytes?: number } = {}) {
    this.#lake = lake;
    this.#cache = new BoundedCache(cacheBytes);
  }

  /**
   * Payloads of these rows of a file, in the order of the ordinals, which ascend. Bytes as they came.
   * @throws PublicError unavailable when the object store cannot be reached; Error when the file is missing or damaged
   */
  async read(
    segment: Segment,
    ordinals: readonly number[],
    fields: readonly PayloadField[],
  ): Promise<readonly RunPayloads[]> {
    const all: RunPayloads[] = [];
    for await (const payloads of this.rows(segment, ordinals, fields)) all.push(payloads);
    return all;
  }

  /** The same, one after the other: only the pages of the next rows are held. */
  async *rows(
    segment: Segment,
    ordinals: readonly number[],
    fields: readonly PayloadField[],
  ): AsyncGenerator<RunPayloads, void, void> {
    if (ordinals.length === 0) return;
    const index = await this.#index(segment);
    for (let at = 0; at < ordinals.length;) {
      const { wanted, end } = bandOf(index, ordinals, at, fields);
      const pages = await this.#pages(segment, wanted);
      for (; at < end; at++) yield payloadsOf(index, pages, ordinals[at] ?? -1, fields);
    }
  }

  /**
   * Row groups of a file with their pages of these columns. Pages are compared with their checksums and not decoded; two
   * requests of them are held.
   * @throws as `read`, also while chunks are drained
   */
  async groups(segment: Segment, fields: readonly PayloadField[]): Promise<SealedGroups> {
    const index = await this.#index(segment);
    return (first) => {
      const places = fields.flatMap((field) => {
        const place = index.findChunk(field, first);
        return place ? [[field, place] as const] : [];
      });
      const rows = places[0]?.[1].rows;
      if (rows === undefined) return undefined;
      const pages = this.#checkedPages(
        segment,
        places.flatMap(([, place]) => place.pages),
      );
      const chunks = places.map(([field, place]) => {
        const drain = (sink: (bytes: Buffer) => Promise<void>) => drainChunk(segment, place, pages, sink);
        return [field, { ...place, drain }] as const;
      });
      return { rows, chunks: new Map(chunks) };
    };
  }

  /** Pages in their order; the next request is on its way meanwhile. */
  async *#checkedPages(
    segment: Segment,
    places: readonly PagePlace[],
  ): AsyncGenerator<CheckedPage, void, void> {
    const groups = joined(places);
    const begin = (some: readonly PagePlace[] | undefined): Promise<Buffer> => {
      if (!some) return Promise.resolve(Buffer.alloc(0));
      const read = this.#requests.run(segment.tenantId, () =>
        named(segment, () => this.#get(segment, some[0]?.offset ?? 0, endOf(some))),
      );
      // reported where it is awaited, if the file is not given up before
      read.catch(() => undefined);
      return read;
    };
    let next = begin(groups[0]);
    for (const [number, some] of groups.entries()) {
      const bytes = await next;
      next = begin(groups[number + 1]);
      const start = some[0]?.offset ?? 0;
      for (const place of some)
        yield await named(segment, () => {
          const page = bytes.subarray(place.offset - start, place.offset - start + place.bytes);
          const { length, headerBytes } = checkTextPage(page, place);
          return Promise.resolve({ place, bytes: page, uncompressedBytes: headerBytes + length });
        });
    }
  }

  async #index(segment: Segment): Promise<PageIndex> {
    const kept = this.#cache.get(segment.id);
    if (kept instanceof PageIndex) return kept;
    const index = await this.#requests.run(segment.tenantId, () =>
      named(segment, async () => {
        const read = (start: number, end: number) => this.#get(segment, start, end);
        const found = await readPageIndex(read, segment.bytes, PAYLOAD_FIELDS);
        if (found.rows === segment.rows) return found;
        throw new Error(`it has ${found.rows} rows instead of ${segment.rows}`);
      }),
    );
    this.#cache.set(segment.id, index, index.heldBytes);
    return index;
  }

  /** Pages by their offsets. */
  async #pages(segment: Segment, wanted: readonly PagePlace[]): Promise<ReadonlyMap<number, TextPage>> {
    const pages = new Map<number, TextPage>();
    const missing = wanted.filter(({ offset }) => {
      const kept = this.#cache.get(`${segment.id} ${offset}`);
      if (kept instanceof TextPage) pages.set(offset, kept);
      return !(kept instanceof TextPage);
    });
    const inOrder = missing.sort((one, other) => one.offset - other.offset);
    const requests = joined(inOrder).map((some) =>
      this.#requests.run(segment.tenantId, () => named(segment, () => this.#read(segment, some))),
    );
    // all of them end before the first failure is thrown
    for (const result of await Promise.allSettled(requests)) {
      if (result.status === 'rejected') throw result.reason;
      for (const [offset, page] of result.value) pages.set(offset, page);
    }
    return pages;
  }

  /** Neighbouring pages, by one request. */
  async #read(segment: Segment, some: readonly PagePlace[]): Promise<[number, TextPage][]> {
    const start = some[0]?.offset ?? 0;
    const bytes = await this.#get(segment, start, endOf(some));
    const pages: [number, TextPage][] = [];
    for (const place of some) {
      const from = place.offset - start;
      const page = await decodeTextPage(bytes.subarray(from, from + place.bytes), place);
      this.#cache.set(`${segment.id} ${place.offset}`, page, page.heldBytes);
      pages.push([place.offset, page]);
    }
    return pages;
  }

  async #get({ key }: Segment, start: number, end: number): Promise<Buffer> {
    const { store, bucket } = this.#lake;
    const length = end - start;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const pieces: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const piece of await store.get(bucket, key, { offset: start, length, signal })) {
        pieces.push(piece as Buffer);
        bytes += (piece as Buffer).length;
        if (bytes > length) break;
      }
    } catch (error) {
      throw signal.aborted ? new StoreAway('Timeout', error) : awayOrMissing(error);
    }
    if (bytes !== length) throw new Error(`the store sent ${bytes} bytes instead of ${length}`);
    return Buffer.concat(pieces, length);
  }
}

/** The store could not be asked; it may answer later. */
class StoreAway extends Error {
  constructor(
    readonly code: string,
    cause: unknown,
  ) {
    super(`the object store failed: ${code}`, { cause });
  }
}

/** Codes of a store that has no such object, or a shorter one. */
const MISSING = new Set(['NoSuchKey', 'InvalidRange']);

function awayOrMissing(error: unknown): Error {
  if (!(error instanceof ObjectStoreError)) return new StoreAway('interrupted', error);
  if (!MISSING.has(error.code)) return new StoreAway(error.code, error);
  return new Error('the object is missing or too short', { cause: error });
}

/** Pages of the next rows from `at` on; `end` is the first row that they are not for. */
function bandOf(
  index: PageIndex,
  ordinals: readonly number[],
  at: number,
  fields: readonly PayloadField[],
): { readonly wanted: readonly PagePlace[]; readonly end: number } {
  const wanted = new Map<number, PagePlace>();
  let bytes = 0;
  let end = at;
  for (; end < ordinals.length; end++) {
    const more = fields
      .map((field) => index.find(field, ordinals[end] ?? -1))
      .filter(({ offset }) => !wanted.has(offset));
    bytes += more.reduce((sum, { meanBytes }) => sum + meanBytes, 0);
    if (end > at && more.length > 0 && bytes > BAND_BYTES) break;
    for (const place of more) wanted.set(place.offset, place);
  }
  return { wanted: [...wanted.values()], end };
}

function payloadsOf(
  index: PageIndex,
  pages: ReadonlyMap<number, TextPage>,
  ordinal: number,
  fields: readonly PayloadField[],
): RunPayloads {
  const payloads: { -readonly [Field in PayloadField]?: Buffer } = {};
  for (const field of fields) {
    const value = pages.get(index.find(field, ordinal).offset)?.at(ordinal);
    // a copy: a part would hold its whole page
    if (value) payloads[field] = Buffer.from(value);
  }
  return payloads;
}

/** Pages in their order, in groups that are near to each other, each for one request. */
function joined(pages: readonly PagePlace[]): readonly (readonly PagePlace[])[] {
  const groups: PagePlace[][] = [];
  for (const page of pages) {
    const last = groups.at(-1);
    const { offset, bytes } = page;
    const gap = last ? offset - endOf(last) : -1;
    const isNear = gap >= 0 && gap <= GAP_BYTES;
    if (last && isNear && offset + bytes - (last[0]?.offset ?? 0) <= REQUEST_BYTES) last.push(page);
    else groups.push([page]);
  }
  return groups;
}

function endOf(pages: readonly PagePlace[]): number {
  const last = pages.at(-1);
  return last ? last.offset + last.bytes : 0;
}

/** Hands on the pages of a chunk, which are the next ones of its row group. */
async function drainChunk(
  segment: Segment,
  { pages: places, uncompressedBytes }: ChunkPlace,
  pages: AsyncGenerator<CheckedPage, void, void>,
  sink: (bytes: Buffer) => Promise<void>,
): Promise<void> {
  let bytes = 0;
  for (const place of places) {
    const { value: page } = await pages.next();
    if (page?.place !== place) throw new Error('the chunks of a row group are drained out of their order');
    bytes += page.uncompressedBytes;
    await sink(page.bytes);
  }
  if (bytes === uncompressedBytes) return;
  await named(segment, () => Promise.reject(new Error('its footer contradicts the headers of its pages')));
}

/** Performs a read whose errors name the segment, and say whether the store is away or the file is not whole. */
async function named<T>(segment: Segment, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StoreAway)
      throw new PublicError(
        'unavailable',
        `Sealed payloads cannot be read: the object store failed at segment ${segment.id} (${error.code}); retry`,
        [],
        { cause: error, retryAfterSeconds: RETRY_AFTER_SECONDS },
      );
    const why = error instanceof Error ? error.message : errorText(error);
    throw new Error(
      `reading sealed payloads failed: segment ${segment.id} (${segment.key}): ${why}; restore the object from a backup`,
      { cause: error },
    );
  }
}
