import { setImmediate } from 'node:timers/promises';
import { errorText } from '#lib/errors';
import { isNotFound, KubeApiError, type KubeClient } from '#lib/kube';
import { lineTime, type LogLine, MAX_LINE_BYTES } from './log-line.js';
import type { LogSource } from './log-source.js';

const LINE_END = 0x0a;

/** A line of the stream: the start of it that is kept, and its whole length. */
interface RawLine {
  readonly kept: Buffer;
  readonly bytes: number;
}

/**
 * The lines of a log that was asked for with timestamps, as many at once as came. A line longer than `MAX_LINE_BYTES` is
 * cut while it is read. One without a time (a note of the node) has the time of the line before it.
 * @param startTime of lines before the first that has a time
 */
export async function* readLines(
  stream: AsyncIterable<Buffer>,
  source: Pick<LogLine, 'pod' | 'container'>,
  startTime: string,
): AsyncGenerator<readonly LogLine[], void, void> {
  let time = startTime;
  const parsed = (raw: RawLine): LogLine => {
    const line = parseLine(raw, source, time);
    time = line.time;
    return line;
  };
  let parts: Buffer[] = [];
  let bytes = 0;
  const take = (part: Buffer): void => {
    if (bytes < MAX_RAW_BYTES && part.length > 0) parts.push(part.subarray(0, MAX_RAW_BYTES - bytes));
    bytes += part.length;
  };
  const end = (): RawLine => {
    const line = { kept: Buffer.concat(parts), bytes };
    [parts, bytes] = [[], 0];
    return line;
  };
  for await (const chunk of stream) {
    const lines: LogLine[] = [];
    let start = 0;
    for (let at = chunk.indexOf(LINE_END); at !== -1; at = chunk.indexOf(LINE_END, start)) {
      take(chunk.subarray(start, at));
      lines.push(parsed(end()));
      start = at + 1;
    }
    take(chunk.subarray(start));
    if (lines.length > 0) yield lines;
  }
  if (bytes > 0) yield [parsed(end())];
}

/** Limit with the time before it. */
const MAX_RAW_BYTES = MAX_LINE_BYTES + 64;

function parseLine(
  { kept, bytes }: RawLine,
  { pod, container }: Pick<LogLine, 'pod' | 'container'>,
  lastTime: string,
): LogLine {
  const space = kept.indexOf(0x20);
  const found = lineTime(kept.toString('latin1', 0, Math.max(0, Math.min(space, 40))));
  const from = found === undefined ? 0 : space + 1;
  const length = Math.min(kept.length - from, MAX_LINE_BYTES);
  const cutBytes = bytes - from - length;
  return {
    time: found ?? lastTime,
    pod,
    container,
    text: kept.toString('utf8', from, from + length),
    ...(cutBytes > 0 ? { cutBytes } : {}),
  };
}

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
