import { postgresTrouble, mayPass } from '#lib/postgres';
import { Backoff, type Clock } from '#lib/time';

/**
 * Performs a statement for several items. One item may make it fail for all: then none counts as done and
 * each is performed alone, unless the statement may have been performed.
 */
export async function inCompany<T, O>(
  items: readonly T[],
  perform: () => Promise<O>,
  nothing: O,
): Promise<O> {
  if (items.length === 0) return nothing;
  try {
    return await perform();
  } catch (error) {
    if (postgresTrouble(error) === 'unavailable') throw error;
    return nothing;
  }
}

/** One thing that waits for its place in the next statement. */
interface Waiting<I, O> {
  readonly item: I;
  readonly resolve: (output: O) => void;
  readonly reject: (error: unknown) => void;
}

export interface BatchBounds<I> {
  readonly maxItems?: number;
  /** Bytes of one statement; a single larger item goes alone. */
  readonly maxBytes?: number;
  readonly bytesOf?: (item: I) => number;
}

/** Items of one statement by default. */
const MAX_ITEMS = 200;

/**
 * Turns many small calls into few statements: calls that come in while a statement is in flight go out
 * together in the next. A call on its own leaves at the end of the current iteration of the event loop.
 *
 * @typeParam I one call's input,
 * @typeParam O its answer
 */
export class Batch<I, O> {
  #waiting: Waiting<I, O>[] = [];
  #isBusy = false;

  constructor(
    /** One statement for all; answers the outcome of each item, or throws for that item alone. */
    private readonly perform: (items: readonly I[]) => Promise<(item: I) => O>,
    private readonly bounds: BatchBounds<I> = {},
  ) {}

  add(item: I): Promise<O> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  /** Returns true when such an item waits for the next statement. */
  hasWaiting(isSuch: (item: I) => boolean): boolean {
    return this.#waiting.some(({ item }) => isSuch(item));
  }

  #schedule(): void {
    if (this.#isBusy || this.#waiting.length === 0) return;
    this.#isBusy = true;
    setImmediate(() => void this.#flush());
  }

  /** Items of the next statement; an item that cannot be measured fails by itself. */
  #takeNext(): Waiting<I, O>[] {
    const { maxItems = MAX_ITEMS, maxBytes = Infinity, bytesOf = () => 0 } = this.bounds;
    const batch: Waiting<I, O>[] = [];
    let bytes = 0;
    let taken = 0;
    for (const waiting of this.#waiting) {
      try {
        bytes += bytesOf(waiting.item);
        if (batch.length > 0 && (batch.length >= maxItems || bytes > maxBytes)) break;
        batch.push(waiting);
      } catch (error) {
        waiting.reject(error);
      }
      taken++;
    }
    this.#waiting.splice(0, taken);
    return batch;
  }

  async #flush(): Promise<void> {
    const batch = this.#takeNext();
    try {
      if (batch.length === 0) return;
      const outputOf = await this.perform(batch.map((waiting) => waiting.item));
      for (const waiting of batch) settle(waiting, outputOf);
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    } finally {
      this.#isBusy = false;
      this.#schedule();
    }
  }
}

function settle<I, O>({ item, resolve, reject }: Waiting<I, O>, outputOf: (item: I) => O): void {
  try {
    resolve(outputOf(item));
  } catch (error) {
    reject(error);
  }
}

/** Time for which a graph waits for an unavailable database: most restarts are over by then. */
export const PATIENCE_MS = 10_000;

const PAUSES = { firstMs: 50, longestMs: 1_000 };

/**
 * Performs a statement again while its failure may pass (`mayPass`), for at most `patienceMs`. For statements
 * that may be performed twice, since the first answer may just have been lost.
 * @throws error of the last try
 */
export async function persevere<T>(
  clock: Clock,
  patienceMs: number,
  statement: () => Promise<T>,
): Promise<T> {
  const deadline = clock.monotonicMs() + patienceMs;
  const backoff = new Backoff(clock, PAUSES);
  for (;;) {
    const pauseMs = backoff.nextMs();
    try {
      return await statement();
    } catch (error) {
      if (!mayPass(error) || clock.monotonicMs() + pauseMs > deadline) throw error;
    }
    await clock.sleep(pauseMs);
  }
}
