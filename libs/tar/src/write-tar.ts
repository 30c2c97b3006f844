import { BLOCK_BYTES, paddingOf, type TarItem } from './tar-entry.js';
import { renderHeader } from './tar-header.js';

/** Amount written so far. */
export interface TarCount {
  entries: number;
  /** Total size of all contents. */
  contentBytes: number;
}

/**
 * A tar of these entries.
 * @param count is kept up to date
 * @throws Error when a content is longer or shorter than its entry says
 */
export async function* writeTar(items: AsyncIterable<TarItem>, count: TarCount): AsyncGenerator<Buffer> {
  for await (const { entry, body } of items) {
    yield renderHeader(entry);
    let bytes = 0;
    for await (const piece of body) {
      bytes += piece.length;
      if (bytes > entry.bytes) break;
      count.contentBytes += piece.length;
      yield piece;
    }
    if (bytes !== entry.bytes)
      throw new Error(
        `${entry.path} changed while it was read: expected ${entry.bytes} bytes, found ${bytes}`,
      );
    yield Buffer.alloc(paddingOf(entry.bytes));
    count.entries++;
  }
  yield Buffer.alloc(2 * BLOCK_BYTES);
}
