import { copyFileSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '#lib/errors';
import type { Stoppable } from '#lib/lifecycle';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';

/** A log file and the one before it: so the logs of one program take at most twice this. */
const MAX_BYTES = 16 * 1024 ** 2;
const LOOK_EVERY_MS = 60_000;
/** The audit log sees to its own files. */
const ROTATED = /^(?!audit-).*\.log$/;

/**
 * Limits the growth of the logs of the platform's programs. The programs hold their files open for appending,
 * so a long one is copied to `NAME.log.1` and truncated: the next write begins at its start. Lines written
 * between the two are lost.
 */
export class LogRotation implements Stoppable {
  readonly name = 'log rotation';
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  #cancel: () => void = () => undefined;

  constructor(folder: string, clock: Clock, log: Logger) {
    this.#folder = folder;
    this.#clock = clock;
    this.#log = log;
  }

  start(): void {
    this.#look();
    this.#cancel = this.#clock.after(LOOK_EVERY_MS, () => this.start());
  }

  stop(): Promise<void> {
    this.#cancel();
    return Promise.resolve();
  }

  #look(): void {
    for (const name of readdirSync(this.#folder).filter((one) => ROTATED.test(one))) {
      const path = join(this.#folder, name);
      try {
        if (statSync(path).size > MAX_BYTES) this.#rotate(path);
      } catch (error) {
        this.#log.warn({ path, problem: errorText(error) }, 'rotating a log failed');
      }
    }
  }

  #rotate(path: string): void {
    const former = `${path}.1`;
    try {
      copyFileSync(path, former);
    } catch (error) {
      // on a full disk free space is worth more than old lines
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      rmSync(former, { force: true });
    }
    truncateSync(path);
    this.#log.info({ path }, 'log rotated');
  }
}
