import { chmodSync, closeSync, fstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { AuditRecord } from './audit-record.js';

const MAX_BYTES = 20 * 1024 * 1024;
const MAX_FILES = 10;

export interface AuditLogOptions {
  /** File of the newest records; `-` is standard output, which is never rotated. */
  readonly path: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Of a file; a full one becomes `PATH.1`. Default 20 MiB. */
  readonly maxBytes?: number;
  /** Files in all; default 10. */
  readonly maxFiles?: number;
}

/**
 * Who did what, as JSON lines in a file that only its owner reads, rotated by size and count.
 *
 * Written at once, so that a program that is killed has said what it did. A write that fails never fails the work it is
 * about: records are dropped and counted, the log of the program says so once, and again when the file takes lines.
 */
export class AuditLog {
  readonly #options: AuditLogOptions;
  #file: { readonly descriptor: number; bytes: number } | undefined;
  #dropped = 0;
  #isBroken = false;

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  write(record: AuditRecord): void {
    const time = this.#options.clock.now().toISOString();
    const line = Buffer.from(`${JSON.stringify({ time, ...record })}\n`);
    try {
      this.#append(line);
    } catch (error) {
      this.#drop(error);
      return;
    }
    if (this.#dropped === 0) return;
    this.#options.log.warn({ dropped: this.#dropped }, 'audit records were lost while writing them failed');
    this.#dropped = 0;
  }

  close(): void {
    const { descriptor } = this.#file ?? {};
    this.#file = undefined;
    if (descriptor !== undefined && descriptor !== 1) closeSync(descriptor);
  }

  #append(line: Buffer): void {
    const { path, maxBytes = MAX_BYTES } = this.#options;
    if (path === '-') return void writeSync(1, line);
    if (this.#file && this.#file.bytes + line.length > maxBytes) this.#rotate();
    this.#file ??= this.#open();
    // half a line is left where the disk was full: the next one begins after it
    const whole = this.#isBroken ? Buffer.concat([Buffer.from('\n'), line]) : line;
    const written = writeSync(this.#file.descriptor, whole);
    this.#file.bytes += written;
    this.#isBroken = written < whole.length;
    if (this.#isBroken) throw new Error('no space left for a whole record');
  }

  #open(): { descriptor: number; bytes: number } {
    const { path } = this.#options;
    const descriptor = openSync(path, 'a', 0o600);
    // one that was there before may be open to others
    chmodSync(path, 0o600);
    return { descriptor, bytes: fstatSync(descriptor).size };
  }

  #rotate(): void {
    const { path, maxFiles = MAX_FILES } = this.#options;
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

  #drop(error: unknown): void {
    this.#dropped++;
    if (this.#dropped > 1) return;
    const { log, path } = this.#options;
    log.error(
      { path, error: errorText(error) },
      'writing an audit record failed; further ones are dropped until it works',
    );
  }
}
