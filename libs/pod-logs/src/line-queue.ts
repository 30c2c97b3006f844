import { byTime, type LogLine, sizeOfLine } from './log-line.js';

/** Lines of all containers that wait for their reader; those who bring more wait meanwhile. */
const MAX_QUEUED_BYTES = 1_048_576;

/** Queue in which the followers of several logs leave lines for one reader. */
export class LineQueue {
  #lines: LogLine[] = [];
  #bytes = 0;
  #filled = Promise.withResolvers<void>();
  #emptied = Promise.withResolvers<void>();

  /** Resolves once there is space for more. */
  async put(lines: readonly LogLine[]): Promise<void> {
    if (lines.length === 0) return;
    for (const line of lines) {
      this.#lines.push(line);
      this.#bytes += sizeOfLine(line);
    }
    this.wake();
    while (this.#bytes > MAX_QUEUED_BYTES) await this.#emptied.promise;
  }

  /** Lets the reader look, lines or not. */
  wake(): void {
    this.#filled.resolve();
  }

  /** Resolves when there are lines, or `wake` was called. */
  async filled(): Promise<void> {
    await this.#filled.promise;
    this.#filled = Promise.withResolvers<void>();
  }

  /** All of them, by time. */
  take(): readonly LogLine[] {
    const taken = this.#lines.sort(byTime);
    [this.#lines, this.#bytes] = [[], 0];
    this.#emptied.resolve();
    this.#emptied = Promise.withResolvers<void>();
    return taken;
  }
}
