import { readFileSync, statSync } from 'node:fs';
import type { Clock } from '#lib/time';

/** Milliseconds between two looks at the file. */
const FRESH_MS = 2_000;

/** A file of the machine's settings, read again when it has changed. One that cannot be read is empty. */
export class MachineFile<T> {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #parse: (text: string) => T;
  #value: T;
  #version = '';
  #lookedAtMs = -Infinity;

  constructor(path: string, clock: Clock, parse: (text: string) => T) {
    this.#path = path;
    this.#clock = clock;
    this.#parse = parse;
    this.#value = parse('');
  }

  get value(): T {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lookedAtMs >= FRESH_MS) {
      this.#lookedAtMs = nowMs;
      this.#look();
    }
    return this.#value;
  }

  /** Not through the thread pool: names must be found while that is busy. */
  #look(): void {
    let text = '';
    let version = '';
    try {
      const { mtimeMs, size, ino } = statSync(this.#path);
      version = `${ino} ${size} ${mtimeMs}`;
      if (version === this.#version) return;
      text = readFileSync(this.#path, 'utf8');
    } catch {
      // a file that cannot be read counts as empty
    }
    this.#value = this.#parse(text);
    this.#version = version;
  }
}
