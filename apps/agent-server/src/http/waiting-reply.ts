import type { ServerResponse } from 'node:http';
import type { RunResult } from '../log/event-log.js';
import type { ResultReader } from '../run/run-reader.js';
import type { StreamParts } from './event-stream.js';

/** Newlines before the JSON keep the connection alive; JSON parsers skip them. */
const KEEP_ALIVE_MS = 5_000;

/** One JSON answer that comes when a run has ended. */
export class WaitingReply implements ResultReader {
  readonly kind = 'result';
  #cancel: () => void;
  #headers: Readonly<Record<string, string>> | undefined;
  #result: RunResult | undefined;

  constructor(
    private readonly response: ServerResponse,
    private readonly parts: StreamParts,
  ) {
    this.#cancel = this.#beatLater();
  }

  /** The answer is known; the client may not have it yet. */
  get isEnded(): boolean {
    return this.#result !== undefined;
  }

  /** Headers that are sent with the first byte. */
  begin(headers: Readonly<Record<string, string>>): void {
    if (this.response.destroyed) return this.#cancel();
    this.#headers = { 'content-type': 'application/json; charset=utf-8', ...headers };
    this.response.on('close', () => this.#cancel());
    this.#finish();
  }

  /** Stops the answer: nothing is sent any more. */
  abandon(): void {
    this.#cancel();
  }

  ended(result: RunResult): void {
    this.#result = result;
    this.#cancel();
    this.#finish();
  }

  #finish(): void {
    if (!this.#headers || !this.#result || this.response.destroyed) return;
    const length = Buffer.byteLength(this.#result.body);
    this.parts.unsent.open(this.response).owe(length);
    if (!this.response.headersSent) {
      this.response.writeHead(200, { ...this.#headers, 'content-length': String(length) });
    }
    this.response.end(this.#result.body);
  }

  #beatLater(): () => void {
    return this.parts.clock.after(KEEP_ALIVE_MS, () => {
      if (this.#headers && !this.response.destroyed) {
        if (!this.response.headersSent) this.response.writeHead(200, this.#headers);
        this.response.write('\n');
      }
      this.#cancel = this.#beatLater();
    });
  }
}
