import { createHash } from 'node:crypto';
import { mkdirSync, writeSync, chmodSync, closeSync, fstatSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '#lib/errors';
import { TokenBuckets } from '#lib/http';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { AuditRecord } from './audit-record.js';

/** Limits for one file and its former ones. */
interface Retention {
  /** A full file becomes `PATH.1`. */
  readonly maxBytes: number;
  /** Files in all. */
  readonly maxFiles: number;
}

/** A file of whole lines that only its owner reads, rotated by size and count. */
class RotatedFile {
  #file: { readonly descriptor: number; bytes: number } | undefined;
  #isBroken = false;

  constructor(
    private readonly path: string,
    private readonly retention: Retention,
  ) {}

  /** @throws Error when the line is not whole in the file */
  append(line: Buffer): void {
    if (this.#file && this.#file.bytes + line.length > this.retention.maxBytes) this.#rotate();
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
    const descriptor = openSync(this.path, 'a', 0o600);
    // one that was there before may be open to others
    chmodSync(this.path, 0o600);
    return { descriptor, bytes: fstatSync(descriptor).size };
  }

  #rotate(): void {
    const path = this.path;
    const { maxFiles } = this.retention;
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

const PLATFORM: Retention = { maxBytes: 20 * 1024 * 1024, maxFiles: 10 };
const OWNER: Retention = { maxBytes: 4 * 1024 * 1024, maxFiles: 5 };
/** A person who tries what he may not is recorded whole; a program that does nothing else is counted. */
const REFUSALS = { capacity: 300, perSecond: 1, most: 10_000 };
const MOST_OPEN = 32;
const FIRST_REFUSED = 400;
/** Names that a file may have unchanged. */
const PLAIN = /^[a-z0-9][a-z0-9-]{0,62}$/;

export interface AuditLogOptions {
  /** File of the newest records of the platform; `-` is standard output, which takes all records and is never rotated. */
  readonly path: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Retention of the platform's records; 10 files of 20 MiB by default. */
  readonly platform?: Retention;
  /** Retention of the records of each owner; 5 files of 4 MiB by default. */
  readonly owner?: Retention;
}

/**
 * Log of actions and their actors, as JSON lines in files that only their owner reads, rotated by size and
 * count. Each tenant has files of its own, in a folder beside the file of the platform: a busy tenant does
 * not displace the records of others.
 *
 * Written at once, so that a program that is killed has recorded its actions. A write that fails never fails
 * the work that it records: records are dropped and counted, the log of the program reports it once, and
 * again when the file takes lines.
 */
export class AuditLog {
  /** Files by owner, least recently used first. */
  readonly #files = new Map<string, RotatedFile>();
  readonly #refusals: TokenBuckets;
  /** Refusals without a line, by owner. */
  readonly #leftOut = new Map<string, number>();
  #dropped = 0;

  constructor(private readonly options: AuditLogOptions) {
    this.#refusals = new TokenBuckets({ ...REFUSALS, clock: options.clock });
  }

  /** @param owner the tenant whose doing it was; empty for the platform's own */
  write(record: AuditRecord, owner = ''): void {
    if (record.outcome.status >= FIRST_REFUSED && !this.#refusals.take(owner)) return this.#leaveOut(owner);
    const leftOut = this.#leftOut.get(owner);
    if (leftOut !== undefined)
      this.#append({ program: record.program, leftOut: { refusals: leftOut } }, owner);
    this.#leftOut.delete(owner);
    this.#append(record, owner);
  }

  close(): void {
    for (const file of this.#files.values()) file.close();
    this.#files.clear();
  }

  #leaveOut(owner: string): void {
    const count = this.#leftOut.get(owner) ?? 0;
    // the map has at most as many owners as there are buckets: an owner whose bucket was dropped has a full
    // one again
    if (count > 0 || this.#leftOut.size < REFUSALS.most) this.#leftOut.set(owner, count + 1);
  }

  #append(content: object, owner: string): void {
    const time = this.options.clock.now().toISOString();
    const line = Buffer.from(`${JSON.stringify({ time, ...content })}\n`);
    try {
      if (this.options.path === '-') writeSync(1, line);
      else this.#fileOf(owner).append(line);
    } catch (error) {
      this.#drop(error);
      return;
    }
    if (this.#dropped === 0) return;
    this.options.log.warn({ dropped: this.#dropped }, 'audit records were lost while writing them failed');
    this.#dropped = 0;
  }

  #fileOf(owner: string): RotatedFile {
    const file = this.#files.get(owner) ?? this.#newFile(owner);
    this.#files.delete(owner);
    this.#files.set(owner, file);
    const [oldest] = this.#files.keys();
    if (oldest !== undefined && this.#files.size > MOST_OPEN) {
      this.#files.get(oldest)?.close();
      this.#files.delete(oldest);
    }
    return file;
  }

  #newFile(owner: string): RotatedFile {
    const { path, platform = PLATFORM, owner: retention = OWNER } = this.options;
    if (owner === '') return new RotatedFile(path, platform);
    const folder = path.replace(/\.log$/, '');
    mkdirSync(folder, { mode: 0o700, recursive: true });
    return new RotatedFile(join(folder, `${fileNameOf(owner)}.log`), retention);
  }

  #drop(error: unknown): void {
    this.#dropped++;
    if (this.#dropped > 1) return;
    const { log, path } = this.options;
    log.error(
      { path, error: errorText(error) },
      'writing an audit record failed; further ones are dropped until it works',
    );
  }
}

/** Names that are no plain ones (users of Kubernetes) by their hash. */
function fileNameOf(owner: string): string {
  return PLAIN.test(owner) ? owner : createHash('sha256').update(owner).digest('hex').slice(0, 32);
}
