import { existsSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { isMissingFile, unless } from '#lib/errors';
import type { Clock } from '#lib/time';
import { within } from '../pace.js';
import { attemptFiles, type LogFile } from './log-file.js';

/** Part of a log that a caller asks for; the query of `/containerLogs`. */
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

/** True when an attempt has left a log. */
export function hasLog(folder: string, attempt: number): boolean {
  return existsSync(attemptFiles(folder, attempt).newest);
}

/**
 * The entries of an attempt's log as text, then (when asked to follow) those that come until the attempt ends or the
 * signal is aborted. Never more than one piece of a file is held, however many lines are asked for: the API server of
 * all workspaces may be in the same process.
 */
export async function* readLog(
  folder: string,
  attempt: number,
  query: LogQuery,
  live: LogFile | undefined,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): AsyncGenerator<string, void, void> {
  const limit = new ByteLimit(query.limitBytes);
  const wake = new Wake();
  const release = live?.onChange(() => wake.now());
  let opened = await openLog(folder, attempt, live);
  try {
    const sizes = await Promise.all(opened.files.map(async (file) => (await file.stat()).size));
    const all = opened.files.map((file, at): Part => ({ file, start: 0, end: sizes[at] ?? 0, skip: 0 }));
    const parts = query.tailLines === undefined ? all : await lastLines(all, query, query.tailLines);
    let position = 0;
    for (const { skip, ...part } of parts) {
      const isNewest = part.file === opened.files.at(-1);
      if (isNewest) position = part.start;
      let left = skip;
      for await (const piece of piecesOf(part)) {
        const texts = entriesOf(piece.text, query).slice(left);
        left = 0;
        yield* limit.pass(texts.join(''));
        if (limit.isReached) return;
        if (isNewest) position = piece.end;
      }
    }
    while (query.follow && live && !signal.aborted && !limit.isReached) {
      const { isClosed: wasClosed, rotations } = live;
      const file = opened.files.at(-1);
      // lines from before a rotation are in the open file, even after it was renamed
      for await (const { text, end } of file ? piecesOf({ file, start: position, end: Infinity }) : []) {
        yield* limit.pass(entriesOf(text, query).join(''));
        position = end;
      }
      if (rotations !== opened.rotations) {
        await closeLog(opened);
        opened = await openLog(folder, attempt, live);
        position = 0;
      } else if (wasClosed) return;
      else await within(wake.next(), 1_000, clock);
    }
  } finally {
    release?.();
    await closeLog(opened);
  }
}

interface OpenedLog {
  /** The older one first, where there is one. */
  readonly files: readonly FileHandle[];
  readonly rotations: number;
}

async function openLog(folder: string, attempt: number, live: LogFile | undefined): Promise<OpenedLog> {
  const { older, newest } = attemptFiles(folder, attempt);
  for (;;) {
    const rotations = live?.rotations ?? 0;
    const found = await Promise.all([older, newest].map((path) => open(path).catch(unless(isMissingFile))));
    const opened = { files: found.filter((file) => file !== undefined), rotations };
    // else the older one may be that which was the newest a moment ago
    if (rotations === (live?.rotations ?? 0)) return opened;
    await closeLog(opened);
  }
}

async function closeLog({ files }: OpenedLog): Promise<void> {
  await Promise.all(files.map((file) => file.close()));
}

/** Bytes of a file, `end` exclusive. */
interface Range {
  readonly file: FileHandle;
  readonly start: number;
  readonly end: number;
}

interface Part extends Range {
  /** Entries to leave out. */
  readonly skip: number;
}

/**
 * Parts from the begin of the last entries. They are counted first and read again, so that none is held in
 * memory.
 */
async function lastLines(parts: readonly Part[], query: LogQuery, wanted: number): Promise<readonly Part[]> {
  const counted: { readonly part: Part; readonly start: number; readonly entries: number }[] = [];
  for (const part of parts) {
    let { start } = part;
    for await (const { text, end } of piecesOf(part)) {
      counted.push({ part, start, entries: entriesOf(text, query).length });
      start = end;
    }
  }
  let found = 0;
  for (const { part, start, entries } of counted.toReversed()) {
    found += entries;
    if (found < wanted) continue;
    return [{ ...part, start, skip: found - wanted }, ...parts.slice(parts.indexOf(part) + 1)];
  }
  return parts;
}

const PIECE_BYTES = 65_536;
const LINE_END = 0x0a;

/** Whole lines as the file stores them, a piece at a time. A line that is being written is left for later. */
async function* piecesOf({
  file,
  start,
  end,
}: Range): AsyncGenerator<{ readonly text: string; readonly end: number }, void, void> {
  let rest = Buffer.alloc(0);
  for (let at = start; at < end;) {
    const room = Buffer.allocUnsafe(Math.min(PIECE_BYTES, end - at));
    const { bytesRead } = await file.read(room, 0, room.length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    const read = Buffer.concat([rest, room.subarray(0, bytesRead)]);
    const whole = read.lastIndexOf(LINE_END) + 1;
    rest = read.subarray(whole);
    if (whole > 0) yield { text: read.toString('utf8', 0, whole), end: at - rest.length };
  }
}

/** `TIME STREAM TAG LINE` of each line, as it is shown. */
function entriesOf(lines: string, { since, timestamps }: LogQuery): readonly string[] {
  return lines.split('\n').flatMap((line) => {
    const [, time = '', tag, text = ''] = /^(\S+) \S+ ([FP]) (.*)$/s.exec(line) ?? [];
    if (tag === undefined || (since && new Date(time) < since)) return [];
    return [`${timestamps ? `${time} ` : ''}${text}${tag === 'F' ? '\n' : ''}`];
  });
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
    if (text === '' || this.isReached) return;
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
