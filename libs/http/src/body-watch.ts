import type { IncomingMessage } from 'node:http';
import type { ServerLimits } from './server-limits.js';

/** How the body of one request comes in. */
export class BodyWatch {
  readonly #request: IncomingMessage;
  readonly #bytesBefore: number;
  #bytes: number;
  #progressMs: number;
  #lastMs: number;
  /** Time in which the client was the one to be waited for. */
  #waitedMs = 0;

  constructor(request: IncomingMessage, nowMs: number) {
    this.#request = request;
    this.#bytesBefore = request.socket.bytesRead;
    this.#bytes = this.#bytesBefore;
    this.#progressMs = nowMs;
    this.#lastMs = nowMs;
  }

  /** The time until now does not count. */
  forgive(nowMs: number): void {
    this.#progressMs = nowMs;
    this.#lastMs = nowMs;
  }

  /** @returns what is wrong; undefined while the client may go on */
  look(nowMs: number, limits: ServerLimits): string | undefined {
    const request = this.#request;
    if (request.complete || request.destroyed) return undefined;
    const passedMs = nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    const { bytesRead } = request.socket;
    // bytes that nobody has taken yet: this side is the slow one
    if (bytesRead !== this.#bytes || request.readableLength > 0) this.#progressMs = nowMs;
    this.#bytes = bytesRead;
    if (request.readableLength > 0) return undefined;
    this.#waitedMs += passedMs;
    const idleMs = nowMs - this.#progressMs;
    if (idleMs >= limits.bodyIdleMs) return `no byte of the body for ${seconds(idleMs)} s`;
    if (this.#waitedMs >= limits.bodyTotalMs)
      return `the body did not end within ${seconds(limits.bodyTotalMs)} s`;
    const rate = ((bytesRead - this.#bytesBefore) / Math.max(1, this.#waitedMs)) * 1000;
    if (this.#waitedMs >= limits.bodyIdleMs && rate < limits.bodyBytesPerSecond)
      return `the body came with ${rate.toFixed(1)} bytes/s, less than ${limits.bodyBytesPerSecond}`;
    return undefined;
  }
}

function seconds(ms: number): string {
  return String(Math.round(ms / 100) / 10);
}
