import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerLimits } from './server-limits.js';

/** Progress of the body of one request. */
export class BodyWatch {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #bytesBefore: number;
  #bytes: number;
  #progressMs: number;
  #lastMs: number;
  /** Time in which the client was the one to be waited for. */
  #waitedMs = 0;

  constructor(request: IncomingMessage, response: ServerResponse, nowMs: number) {
    this.#request = request;
    this.#response = response;
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

  /** @returns the problem; undefined while the client may continue */
  look(nowMs: number, limits: ServerLimits): string | undefined {
    const request = this.#request;
    if (request.complete || request.destroyed) return undefined;
    const passedMs = nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    const { bytesRead } = request.socket;
    // bytes that were not taken yet: this side is the slow one, unless it has answered and reads no more
    const isOwnDelay = request.readableLength > 0 && !this.#response.writableFinished;
    if (bytesRead !== this.#bytes || isOwnDelay) this.#progressMs = nowMs;
    this.#bytes = bytesRead;
    if (isOwnDelay) return undefined;
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
