import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ServerLimits } from './server-limits.js';

/** How the answer to one request is read. */
export class AnswerWatch {
  readonly #response: ServerResponse;
  #progressMs: number;
  #taken = '';

  constructor(response: ServerResponse, nowMs: number) {
    this.#response = response;
    this.#progressMs = nowMs;
  }

  /** The time until now does not count. */
  forgive(nowMs: number): void {
    this.#progressMs = nowMs;
  }

  /** @returns what is wrong; undefined while the client may go on */
  look(nowMs: number, limits: ServerLimits): string | undefined {
    const { socket, writableLength } = this.#response;
    // without a socket the answer waits for an earlier one on the same connection
    const taken = socket && writableLength > 0 ? takenBy(socket) : undefined;
    if (taken === undefined || taken !== this.#taken) {
      this.#taken = taken ?? '';
      this.#progressMs = nowMs;
      return undefined;
    }
    const idleMs = nowMs - this.#progressMs;
    if (idleMs < limits.answerStallMs) return undefined;
    return `nothing read for ${Math.round(idleMs / 1000)} s; ${writableLength} bytes of the answer were unsent`;
  }
}

/**
 * Differs when the client has taken something: writes that are done, and what the kernel has not yet got of the one at
 * work. The latter is Node's own measure for time-outs and not public; without it one large write counts as no progress.
 */
export function takenBy(socket: Socket): string {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly writeQueueSize?: number } };
  return `${socket.bytesWritten - socket.writableLength} ${handle?.writeQueueSize ?? 0}`;
}
