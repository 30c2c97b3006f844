import type { Clock } from '#lib/time';

/** Size that a request adds to its batch. */
export interface Weight {
  readonly operations: number;
  readonly bytes: number;
}

/** Weight above which a request goes at once: its transaction is worth it. */
const LIGHT: Weight = { operations: 50, bytes: 1 << 19 };
/** Size of a full batch of requests. */
const FULL: Weight = { operations: 200, bytes: 2 << 20 };
/**
 * Time that a request waits for each one in flight in its queue: when requests take longer, larger batches
 * would not be faster.
 */
const WAIT_MS = 20;

interface Waiting<Request, Result> {
  readonly request: Request;
  readonly weight: Weight;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

interface Line<Request, Result> {
  readonly perform: Perform<Request, Result>;
  readonly waiting: Waiting<Request, Result>[];
  underWay: number;
  cancel: (() => void) | undefined;
}

type Perform<Request, Result> = (
  requests: readonly Request[],
) => Promise<readonly PromiseSettledResult<Result>[]>;

/**
 * Batches small requests: one goes at once while no other of its queue is in flight, those that come
 * meanwhile wait until it has ended, or for a moment. A commit and its look-ups cost the same for one run as
 * for a hundred.
 */
export class Gathering<Request, Result> {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #lines = new Map<string, Line<Request, Result>>();

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /**
   * @param name of the line; requests of one are performed alike
   * @param perform answers for each of the requests, in their order
   */
  add(name: string, request: Request, weight: Weight, perform: Perform<Request, Result>): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const one = { request, weight, resolve, reject };
    let line = this.#lines.get(name);
    if (!line) this.#lines.set(name, (line = { perform, waiting: [], underWay: 0, cancel: undefined }));
    const isHeavy = weight.operations > LIGHT.operations || weight.bytes > LIGHT.bytes;
    if (isHeavy || line.underWay === 0) void this.#perform(name, line, [one]);
    else {
      line.waiting.push(one);
      this.#wait(name, line);
    }
    return promise;
  }

  #serve(name: string, line: Line<Request, Result>): void {
    line.cancel?.();
    line.cancel = undefined;
    let [operations, bytes, count] = [0, 0, 0];
    for (const { weight } of line.waiting) {
      operations += weight.operations;
      bytes += weight.bytes;
      if (count > 0 && (operations > FULL.operations || bytes > FULL.bytes)) break;
      count++;
    }
    const together = line.waiting.splice(0, count);
    if (together.length > 0) void this.#perform(name, line, together);
    if (line.waiting.length > 0) this.#wait(name, line);
  }

  #wait(name: string, line: Line<Request, Result>): void {
    line.cancel ??= this.#clock.after(WAIT_MS * line.underWay, () => this.#serve(name, line));
  }

  async #perform(
    name: string,
    line: Line<Request, Result>,
    together: readonly Waiting<Request, Result>[],
  ): Promise<void> {
    line.underWay++;
    try {
      const results = await line.perform(together.map(({ request }) => request));
      for (const [at, { resolve, reject }] of together.entries()) {
        const result = results[at];
        if (result?.status === 'fulfilled') resolve(result.value);
        else reject(result?.reason);
      }
    } catch (error) {
      for (const { reject } of together) reject(error);
    } finally {
      line.underWay--;
      if (line.waiting.length > 0) this.#serve(name, line);
      else if (line.underWay === 0) this.#lines.delete(name);
    }
  }
}
