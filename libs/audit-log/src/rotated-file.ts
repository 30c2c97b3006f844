import { chmodSync, closeSync, fstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';

/** Limits for one file and its former ones. */
export interface Retention {
  /** A full file becomes `PATH.1`. */
  readonly maxBytes: number;
  /** Files in all. */
  readonly maxFiles: number;
}

/** A file of whole lines that only its owner reads, rotated by size and count. */
export class RotatedFile {
  readonly #path: string;
  readonly #retention: Retention;
  #file: { readonly descriptor: number; bytes: number } | undefined;
  #isBroken = false;

  constructor(path: string, retention: Retention) {
    this.#path = path;
    this.#retention = retention;
  }

  /** @throws Error when the line is not whole in the file */
  append(line: Buffer): void {
    if (this.#file && this.#file.bytes + line.length > this.#retention.maxBytes) this.#rotate();
    this.#file ??= this.#open();
    // half a line is left where the disk was full: the next one begins after it
    const whole = this.#isBroken ? Buffer.concat([Buffer.from('\n'), line]) : line;
    const written = writeSync(this.#file.descriptor, whole);
    this.#file.bytes += written;
    this.#isBroken = written < whole.length;
    if (this.#isBroken) throw new Error('no space left for a whole record');
  }

  /** Opens again when a line is appended. */
  close(): void {
    if (this.#file) closeSync(this.#file.descriptor);
    this.#file = undefined;
  }

  #open(): { descriptor: number; bytes: number } {
    const descriptor = openSync(this.#path, 'a', 0o600);
    // one that was there before may be open to others
    chmodSync(this.#path, 0o600);
    return { descriptor, bytes: fstatSync(descriptor).size };
  }

  #rotate(): void {
    const path = this.#path;
    const { maxFiles } = this.#retention;
    this.close();
    this.#isBroken = false;
    rmSync(`${path}.${maxFiles - 1}`, { force: true });
    for (let at = maxFiles - 2; at >= 0; at--) {
      try {
        renameSync(at === 0 ? path : `${path}.${at}`, `${path}.${at + 1}`);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
  }
}
