import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '#lib/time';
import { isUpgrade } from './socket-upgrades.js';

/**
 * Time after which a closed server serves again: it agreed to be stopped, but the listener that asked died
 * before it did.
 */
const CLOSED_MS = 60_000;

/** Requests to the server except probes; they decide whether it is idle. */
export class Activity {
  #open = 0;
  #lastMs: number;
  #closedAtMs: number | undefined;

  constructor(private readonly clock: Clock) {
    this.#lastMs = clock.monotonicMs();
  }

  /** A request, until its answer has arrived or its socket has closed. */
  add(request: IncomingMessage, response: ServerResponse): void {
    this.#open++;
    // an answer that became a socket ends with that
    (isUpgrade(request) ? request.socket : response).once('close', () => {
      this.#open--;
      this.touch();
    });
  }

  /** Notes work that is no request but keeps the server busy. */
  touch(): void {
    this.#lastMs = this.clock.monotonicMs();
  }

  /** Milliseconds since the last request; 0 while a request is open. */
  get idleMs(): number {
    return this.#open > 0 ? 0 : this.clock.monotonicMs() - this.#lastMs;
  }

  /** True while requests are refused because the server is about to be stopped. */
  get isClosed(): boolean {
    return this.#closedAtMs !== undefined && this.clock.monotonicMs() - this.#closedAtMs < CLOSED_MS;
  }

  close(): void {
    this.#closedAtMs = this.clock.monotonicMs();
  }

  reopen(): void {
    this.#closedAtMs = undefined;
  }
}

/**
 * Answers that have not reached their clients yet. A closing server takes a connection for idle as soon as its answer is
 * written, and would end it while the client still reads.
 */
export class OpenReplies {
  readonly #open = new Set<ServerResponse>();
  #allClosed: (() => void) | undefined;
  #endsConnections = false;

  add(response: ServerResponse): void {
    if (this.#endsConnections) response.shouldKeepAlive = false;
    this.#open.add(response);
    response.once('close', () => {
      this.#open.delete(response);
      if (this.#open.size === 0) this.#allClosed?.();
    });
  }

  /**
   * Makes each connection end with its answer from now on, so that its client opens the next one to another
   * server.
   */
  endConnections(): void {
    this.#endsConnections = true;
    for (const response of this.#open) response.shouldKeepAlive = false;
  }

  /** True while the answer to a request has not begun: its run may just be stored. */
  get hasUnanswered(): boolean {
    for (const { headersSent, destroyed } of this.#open) if (!headersSent && !destroyed) return true;
    return false;
  }

  /** Waits until all have arrived or their clients have left, for `longestMs` at most. */
  async arrived(clock: Clock, longestMs: number): Promise<void> {
    if (this.#open.size === 0) return;
    const over = new AbortController();
    await Promise.race([
      new Promise<void>((resolve) => (this.#allClosed = resolve)),
      clock.sleep(longestMs, over.signal).catch(() => undefined),
    ]);
    over.abort(new Error('all have arrived'));
  }
}
