import type { ServerResponse } from 'node:http';
import type { StreamParts } from './event-stream.js';
import type { UnsentAnswer } from './unsent-output.js';

/** Comments that keep proxies content. */
const HEARTBEAT_MS = 5_000;

/**
 * Bytes that a connection is given at once; the rest stays in the log of the run, which all readers share.
 */
const MAX_AT_CONNECTION_BYTES = 256 * 1024;

/** JSON texts as server-sent events without names. */
export class RpcEventStream {
  readonly #account: UnsentAnswer;
  #cancelHeartbeat: () => void = () => undefined;
  #isEnded = false;

  constructor(
    private readonly response: ServerResponse,
    private readonly parts: StreamParts,
    /** Called when the client has taken something. */
    private readonly onRoom: () => void,
  ) {
    this.#account = parts.unsent.open(response);
    response.once('close', () => this.#cancelHeartbeat());
  }

  get hasRoom(): boolean {
    return this.#account.bytes < MAX_AT_CONNECTION_BYTES;
  }

  /** True when everything was sent; the client may not have it yet. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Sends the head. */
  begin(): void {
    if (this.response.destroyed) return;
    this.response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    this.response.flushHeaders();
    this.#beatLater();
  }

  send(json: string): void {
    if (this.response.destroyed || this.#isEnded) return;
    this.#write(`data: ${json}\n\n`);
  }

  end(): void {
    this.#isEnded = true;
    this.#cancelHeartbeat();
    if (!this.response.destroyed) this.response.end();
  }

  #write(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.#account.owe(bytes);
    this.response.write(text, () => {
      this.#account.paid(bytes);
      this.onRoom();
    });
  }

  #beatLater(): void {
    this.#cancelHeartbeat = this.parts.clock.after(HEARTBEAT_MS, () => {
      if (this.response.destroyed || this.#isEnded) return;
      if (this.#account.bytes === 0) this.#write(': heartbeat\n\n');
      this.#beatLater();
    });
  }
}
