import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#lib/time';

const MAX_BYTES = 10 * 1024 * 1024;
const MAX_LINE_BYTES = 64 * 1024;

/** Log files of attempt N of a container: `N.log`, and `N.log.1` with what came before it. */
export function attemptFiles(
  folder: string,
  attempt: number,
): { readonly older: string; readonly newest: string } {
  const newest = join(folder, `${attempt}.log`);
  return { older: `${newest}.1`, newest };
}

/**
 * The log of one attempt at a container, in the format of container runtimes: `TIME STREAM TAG LINE`, where
 * tag `P` marks a line that continues in the next entry. At most two files of 10 MB; logs of attempts before
 * the last are removed.
 */
export class LogFile {
  readonly #folder: string;
  readonly #attempt: number;
  readonly #clock: Clock;
  readonly #maxBytes: number;
  readonly #unfinished = { stdout: '', stderr: '' };
  readonly #listeners = new Set<() => void>();
  #handle: number | undefined;
  #bytes = 0;
  #rotations = 0;
  #isClosed = false;

  constructor(folder: string, attempt: number, clock: Clock, maxBytes = MAX_BYTES) {
    this.#folder = folder;
    this.#attempt = attempt;
    this.#clock = clock;
    this.#maxBytes = maxBytes;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    removeOld(folder, attempt);
    const { newest } = attemptFiles(folder, attempt);
    this.#handle = this.#open();
    this.#bytes = statSync(newest).size;
  }

  get attempt(): number {
    return this.#attempt;
  }

  /**
   * Number of rotations. After one, a follower finishes reading the older file, then starts the newest from
   * its beginning.
   */
  get rotations(): number {
    return this.#rotations;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Calls back after every write and at the end; the result takes the listener off. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  write(stream: 'stdout' | 'stderr', chunk: string): void {
    const text = this.#unfinished[stream] + chunk;
    const end = text.lastIndexOf('\n') + 1;
    const rest = text.slice(end);
    this.#unfinished[stream] = rest.length > MAX_LINE_BYTES ? '' : rest;
    // lines that arrive in one chunk get the same time
    const time = this.#clock.now().toISOString();
    const lines = text.slice(0, end).split('\n').slice(0, -1);
    const entries = lines.map((line) => `${time} ${stream} F ${line}\n`);
    if (rest.length > MAX_LINE_BYTES) entries.push(`${time} ${stream} P ${rest}\n`);
    this.#append(entries.join(''));
  }

  close(): void {
    if (this.#isClosed) return;
    for (const stream of ['stdout', 'stderr'] as const) {
      const rest = this.#unfinished[stream];
      if (rest !== '') this.#append(`${this.#clock.now().toISOString()} ${stream} F ${rest}\n`);
    }
    this.#isClosed = true;
    if (this.#handle !== undefined) closeSync(this.#handle);
    this.#handle = undefined;
    this.#notify();
  }

  // Written at once: a few microseconds into the page cache, and rotation needs no queue
  #append(text: string): void {
    if (text === '' || this.#isClosed) return;
    const bytes = Buffer.from(text);
    try {
      if (this.#bytes > 0 && this.#bytes + bytes.length > this.#maxBytes) this.#rotate();
      this.#handle ??= this.#open();
      this.#bytes += writeSync(this.#handle, bytes);
    } catch {
      // a full disk, or a removed folder, costs log lines and not the workload
    }
    this.#notify();
  }

  #open(): number {
    return openSync(attemptFiles(this.#folder, this.#attempt).newest, 'a', 0o600);
  }

  /** Rotates the log. A file that cannot be renamed is removed: a log never grows past its size. */
  #rotate(): void {
    const { older, newest } = attemptFiles(this.#folder, this.#attempt);
    if (this.#handle !== undefined) closeSync(this.#handle);
    this.#handle = undefined;
    try {
      renameSync(newest, older);
    } catch {
      rmSync(newest, { force: true });
    }
    this.#bytes = 0;
    this.#rotations++;
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

function removeOld(folder: string, attempt: number): void {
  for (const name of readdirSync(folder)) {
    const of = Number(/^(\d+)\.log/.exec(name)?.[1]);
    if (of < attempt - 1) rmSync(join(folder, name), { force: true });
  }
}
