import { createReadStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Clock } from '#lib/time';
import { within } from '../within.js';
import { attemptFiles, type LogFile } from './log-file.js';

/** What a caller wants to see of a log; the query of `/containerLogs`. */
export interface LogQuery {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  readonly since: Date | undefined;
}

/** Parses the query; `now` turns `sinceSeconds` into a time. */
export function parseLogQuery(query: URLSearchParams, now: Date): LogQuery {
  const number = (name: string): number | undefined => {
    const value = query.get(name);
    return value !== null && /^\d+$/.test(value) ? Number(value) : undefined;
  };
  const sinceSeconds = number('sinceSeconds');
  const sinceTime = query.get('sinceTime');
  return {
    follow: query.get('follow') === 'true',
    previous: query.get('previous') === 'true',
    timestamps: query.get('timestamps') === 'true',
    tailLines: number('tailLines'),
    limitBytes: number('limitBytes'),
    since:
      sinceSeconds !== undefined
        ? new Date(now.getTime() - sinceSeconds * 1000)
        : sinceTime === null
          ? undefined
          : new Date(sinceTime),
  };
}

/** Whether an attempt has left a log. */
export function hasLog(folder: string, attempt: number): boolean {
  return existsSync(attemptFiles(folder, attempt).newest);
}

/**
 * The entries of an attempt's log as text, then (when asked to follow) those that come until the attempt ends or the
 * signal is aborted.
 */
export async function* readLog(
  folder: string,
  attempt: number,
  query: LogQuery,
  live: LogFile | undefined,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): AsyncGenerator<string, void, void> {
  const { older, newest } = attemptFiles(folder, attempt);
  const limit = new ByteLimit(query.limitBytes);
  const wanted: string[] = [];
  const wake = new Wake();
  const release = live?.onChange(() => wake.now());
  let position = 0;
  let rotations = live?.rotations ?? 0;
  const reached = (read: number): void => void (position = read);
  try {
    for (const file of [older, newest].filter((path) => existsSync(path))) {
      for await (const text of entries(file, 0, query, file === newest ? reached : () => undefined)) {
        if (query.tailLines === undefined) yield* limit.pass(text);
        else if (wanted.push(text) > query.tailLines) wanted.shift();
        if (limit.isReached) return;
      }
    }
    for (const text of wanted) yield* limit.pass(text);
    while (query.follow && live && !signal.aborted && !limit.isReached) {
      const wasClosed = live.isClosed;
      const { rotations: now } = live;
      if (now !== rotations) {
        // what came before the rotation and was not read yet is in the older file, if it was the last rotation
        if (now === rotations + 1 && existsSync(older))
          for await (const text of entries(older, position, query, reached)) yield* limit.pass(text);
        rotations = now;
        position = 0;
      }
      for await (const text of entries(newest, position, query, reached)) yield* limit.pass(text);
      if (wasClosed) return;
      await within(wake.next(), 1_000, clock);
    }
  } finally {
    release?.();
  }
}

/** Whole lines from `start`. */
async function* entries(
  file: string,
  start: number,
  query: LogQuery,
  reached: (position: number) => void,
): AsyncGenerator<string, void, void> {
  let position = start;
  const input = createReadStream(file, { start, encoding: 'utf8' });
  for await (const line of createInterface({ input, crlfDelay: 0 })) {
    position += Buffer.byteLength(line) + 1;
    reached(position);
    const entry = /^(\S+) (\S+) ([FP]) (.*)$/s.exec(line);
    if (!entry) continue;
    const [, time = '', , tag, text = ''] = entry;
    if (query.since && new Date(time) < query.since) continue;
    yield `${query.timestamps ? `${time} ` : ''}${text}${tag === 'F' ? '\n' : ''}`;
  }
}

class ByteLimit {
  #left: number;

  constructor(limit: number | undefined) {
    this.#left = limit ?? Number.POSITIVE_INFINITY;
  }

  get isReached(): boolean {
    return this.#left <= 0;
  }

  *pass(text: string): Generator<string, void, void> {
    if (this.isReached) return;
    const bytes = Buffer.from(text);
    const kept = bytes.length > this.#left ? bytes.subarray(0, this.#left).toString('utf8') : text;
    this.#left -= bytes.length;
    yield kept;
  }
}

/** A call of `now` before `next` is not lost. */
class Wake {
  #waiting = Promise.withResolvers<void>();

  now(): void {
    this.#waiting.resolve();
  }

  async next(): Promise<void> {
    await this.#waiting.promise;
    this.#waiting = Promise.withResolvers<void>();
  }
}
