import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ServerLimits } from './server-limits.js';

/** Progress of a client in reading the answer to one request. */
export class AnswerWatch {
  readonly #response: ServerResponse;
  #progressMs: number;
  #lastMs: number;
  /** Bytes taken at the last check; undefined when nothing waited for the client then. */
  #taken: number | undefined;
  /**
   * Measurements of the current window: time in which bytes waited at each check, and bytes that the client
   * took in it.
   */
  #waitedMs = 0;
  #takenBytes = 0;

  constructor(response: ServerResponse, nowMs: number) {
    this.#response = response;
    this.#progressMs = nowMs;
    this.#lastMs = nowMs;
  }

  /** The time until now does not count. */
  forgive(nowMs: number): void {
    this.#progressMs = nowMs;
    this.#lastMs = nowMs;
  }

  /** @returns the problem; undefined while the client may continue */
  look(nowMs: number, limits: ServerLimits): string | undefined {
    const { socket, writableLength } = this.#response;
    const [before, passedMs] = [this.#taken, nowMs - this.#lastMs];
    this.#lastMs = nowMs;
    // without a socket the answer waits for an earlier one on the same connection
    const taken = socket && writableLength > 0 ? takenBy(socket) : undefined;
    this.#taken = taken;
    if (taken !== before || taken === undefined) this.#progressMs = nowMs;
    if (taken === undefined || before === undefined) {
      this.#beginWindow();
      return undefined;
    }
    this.#waitedMs += passedMs;
    this.#takenBytes += taken - before;
    const idleMs = nowMs - this.#progressMs;
    if (idleMs >= limits.answerStallMs)
      return `nothing read for ${Math.round(idleMs / 1000)} s; ${writableLength} bytes of the answer were unsent`;
    if (this.#waitedMs < limits.answerStallMs) return undefined;
    const rate = (this.#takenBytes / Math.max(1, this.#waitedMs)) * 1000;
    this.#beginWindow();
    if (rate >= limits.answerBytesPerSecond) return undefined;
    return `the answer was read with ${rate.toFixed(1)} bytes/s, less than ${limits.answerBytesPerSecond}; ${writableLength} bytes were unsent`;
  }

  #beginWindow(): void {
    [this.#waitedMs, this.#takenBytes] = [0, 0];
  }
}

/**
 * Number of bytes that the kernel has got for the client. The rest of the write at work is Node's own measure
 * for time-outs and not public; without it one large write counts as no progress.
 */
export function takenBy(socket: Socket): number {
  const { _handle: handle } = socket as Socket & {
    readonly _handle?: { readonly bytesWritten?: number; readonly writeQueueSize?: number };
  };
  return (handle?.bytesWritten ?? 0) - (handle?.writeQueueSize ?? 0);
}
