import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Lock, readJson, takeLock, writeJson } from '#lib/data-folder';
import { contextFilePath } from '../context/context-file.js';

/** Counts of one kind of thing in one place. */
export interface Tally {
  readonly read: number;
  readonly written: number;
  readonly refused: number;
}

export const NOTHING: Tally = { read: 0, written: 0, refused: 0 };

/** Progress of a project, a dataset or a list of an agent server. */
export interface Progress {
  /** Behind the last page that is written; absent: from the start. */
  readonly cursor?: string;
  readonly isDone: boolean;
  readonly tallies: Readonly<Record<string, Tally>>;
}

export const UNBEGUN: Progress = { isDone: false, tallies: {} };

interface Stored {
  readonly parts: Readonly<Record<string, Progress>>;
}

/**
 * Cursors of an import in the user's settings, so that one that was killed continues. A page is written before its cursor
 * is stored: a page that was being written is written again, and nothing of it twice, since its ids are the same. The file
 * goes when the import has ended: another import then reads everything again.
 */
export class ProgressFile {
  readonly #path: string;
  readonly #lock: Lock;
  readonly isContinued: boolean;
  #stored: Stored;

  /** @param identity what makes it the same import: the product, both addresses, the window @throws Error while another one runs */
  constructor(identity: readonly (string | undefined)[]) {
    const name = createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, 16);
    this.#path = join(dirname(contextFilePath()), 'imports', `${name}.json`);
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    this.#lock = takeLock(
      `${this.#path}.lock`,
      ({ pid }) => `the same import runs already, as process ${pid}`,
    );
    const found = readJson<Stored>(this.#path);
    this.isContinued = found !== undefined;
    this.#stored = found ?? { parts: {} };
  }

  get(key: string): Progress {
    return this.#stored.parts[key] ?? UNBEGUN;
  }

  set(key: string, progress: Progress): void {
    this.#stored = { parts: { ...this.#stored.parts, [key]: progress } };
    writeJson(this.#path, this.#stored);
  }

  finish(): void {
    rmSync(this.#path, { force: true });
  }

  release(): void {
    this.#lock.release();
  }
}
