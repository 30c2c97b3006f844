import { setImmediate } from 'node:timers/promises';
import { isNotFound, KubeApiError, type KubeClient } from '#lib/kube';
import { errorText } from '#lib/errors';
import type { LogLine } from './log-line.js';
import type { LogSource } from './log-source.js';
import { readLines } from './read-lines.js';

/** The one thing that reading logs asks of the Kubernetes API. */
export type LogClient = Pick<KubeClient, 'podLogs'>;

export interface ReadOptions {
  /** Last lines of each container; all when absent. */
  readonly tail?: number | undefined;
  /** Time in the form of `lineTime`: lines of this time and later. */
  readonly since?: string | undefined;
  readonly previous?: boolean;
  readonly signal: AbortSignal;
  /** Told what could not be read; the rest is read all the same. */
  readonly onNote: (message: string) => void;
}

/** Lines, or runs of them, that are taken before other work is served. */
const STEPS_OF_TURN = 256;

/**
 * The logs of several containers as they are now, merged by time, as many lines at once as have come. Nothing but a piece
 * of each log is held.
 */
export async function* readLogs(
  client: LogClient,
  sources: readonly LogSource[],
  options: ReadOptions,
): AsyncGenerator<readonly LogLine[], void, void> {
  const heads = await Promise.all(sources.map((source) => Head.open(readOne(client, source, options))));
  try {
    for (let step = 1; ; step++) {
      const [first, until] = earliest(heads);
      if (!first) return;
      yield first.takeUntil(until);
      await first.fill();
      // lines in memory are merged without waiting: tiny lines of many containers could hold the event loop
      // for seconds
      if (step % STEPS_OF_TURN === 0) await setImmediate();
    }
  } finally {
    await Promise.all(heads.map((head) => head.close()));
  }
}

/** The log of one container; a container that has none now gives no lines. */
export async function* readOne(
  client: LogClient,
  { namespace, pod, container }: LogSource,
  { tail, since, previous = false, follow = false, signal, onNote }: ReadOptions & { follow?: boolean },
): AsyncGenerator<readonly LogLine[], void, void> {
  try {
    const stream = await client.podLogs(
      { namespace, name: pod },
      {
        container,
        previous,
        follow,
        timestamps: true,
        signal,
        ...(tail === undefined ? {} : { tailLines: tail }),
        ...(since === undefined ? {} : { sinceTime: since }),
      },
    );
    const lines = readLines(stream as AsyncIterable<Buffer>, { pod, container }, since ?? '');
    // the API takes whole seconds
    for await (const batch of lines)
      yield since === undefined ? batch : batch.filter(({ time }) => time >= since);
  } catch (error) {
    if (signal.aborted) throw error;
    // its pod was deleted, or the container has not started (again), since the pods were listed
    if (isNotFound(error) || (error instanceof KubeApiError && error.code === 400)) return;
    onNote(`reading the log of container ${container} of pod ${pod} failed: ${errorText(error)}`);
    if (follow) throw error;
  }
}

/** A log with the lines of it that have come and are not passed on. */
class Head {
  #lines: readonly LogLine[] = [];
  #at = 0;

  private constructor(private readonly batches: AsyncGenerator<readonly LogLine[], void, void>) {}

  static async open(batches: AsyncGenerator<readonly LogLine[], void, void>): Promise<Head> {
    const head = new Head(batches);
    await head.fill();
    return head;
  }

  /** Undefined at the end. */
  get line(): LogLine | undefined {
    return this.#lines[this.#at];
  }

  /** At least one line. */
  takeUntil(time: string | undefined): readonly LogLine[] {
    const start = this.#at++;
    while (this.line !== undefined && (time === undefined || this.line.time <= time)) this.#at++;
    return this.#lines.slice(start, this.#at);
  }

  async fill(): Promise<void> {
    while (this.#at >= this.#lines.length) {
      const next = await this.batches.next();
      [this.#lines, this.#at] = [next.done ? [] : next.value, 0];
      if (next.done) return;
    }
  }

  async close(): Promise<void> {
    await this.batches.return();
  }
}

/**
 * The log whose line comes first, and the time of the first line of any other: lines up to that time may be
 * taken.
 */
function earliest(heads: readonly Head[]): readonly [first: Head | undefined, until: string | undefined] {
  let first: Head | undefined;
  let until: string | undefined;
  for (const head of heads) {
    const time = head.line?.time;
    if (time === undefined) continue;
    const firstTime = first?.line?.time;
    if (firstTime === undefined || time < firstTime) [first, until] = [head, firstTime];
    else if (until === undefined || time < until) until = time;
  }
  return [first, until];
}
