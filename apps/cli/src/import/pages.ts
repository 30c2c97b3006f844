import type { JsonObject } from '#lib/json';
import { RestError } from '#lib/rest-client';

/** Items of a list, and the cursor behind them, absent at the end. */
export interface ItemPage {
  readonly items: readonly JsonObject[];
  readonly next: string | undefined;
}

/** The items of a list, page after page. */
export async function* itemsOf(
  read: (cursor: string | undefined) => Promise<ItemPage>,
): AsyncGenerator<JsonObject, void> {
  let cursor: string | undefined;
  do {
    const { items, next } = await read(cursor);
    yield* items;
    cursor = next;
  } while (cursor !== undefined);
}

export async function countOf(items: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _one of items) count++;
  return count;
}

/** Number of items in a page; halved when the source cannot answer so many. */
export class PageSize {
  #size = 100;

  async ask<T>(request: (limit: number) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await request(this.#size);
      } catch (error) {
        if (this.#size === 1 || !isTooMuch(error)) throw error;
        this.#size = Math.ceil(this.#size / 2);
      }
    }
  }
}

/** True when fewer items may be answered: too long for one answer, or too slow. */
function isTooMuch(error: unknown): boolean {
  return error instanceof RestError && (error.status < 300 || [413, 500, 504].includes(error.status));
}
