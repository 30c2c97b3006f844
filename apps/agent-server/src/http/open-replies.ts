import type { ServerResponse } from 'node:http';
import type { Clock } from '#lib/time';

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
