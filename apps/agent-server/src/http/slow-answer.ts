import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { RunResult } from '../log/event-log.js';
import type { ResultReader } from '../run/run-reading.js';
import type { StreamParts } from './event-stream.js';

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

/** Newlines before the JSON keep the connection alive; JSON parsers skip them. */
const KEEP_ALIVE_MS = 5_000;

/** JSON answers that may take as long as a run does. */
export class SlowAnswers {
  /** Connections whose answers are still pending. */
  readonly #waiting = new Set<ServerResponse>();

  constructor(private readonly parts: StreamParts) {}

  /** True while a client waits for an answer. */
  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Cuts off clients that still wait: their runs end at another server. */
  stop(): void {
    for (const response of this.#waiting) response.destroy();
  }

  /**
   * Answers with a JSON text once it is there, with status 200. It returns at once, so that only `answer` and
   * `onLeft` hold anything of the request until then.
   * @param answer cuts the client off when it rejects
   * @param onLeft called when the client leaves before
   */
  send(reply: FastifyReply, answer: Promise<string>, onLeft: () => void): void {
    const { raw } = reply;
    const left = (): void => {
      this.#waiting.delete(raw);
      onLeft();
    };
    raw.once('close', left);
    this.#waiting.add(raw);
    let cancelBeat: (() => void) | undefined;
    const beatLater = (): void => {
      cancelBeat = this.parts.clock.after(KEEP_ALIVE_MS, () => {
        if (raw.destroyed) return;
        if (!raw.headersSent) raw.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
        raw.write('\n');
        beatLater();
      });
    };
    reply.hijack();
    if (raw.destroyed) left();
    else beatLater();
    raw.once('close', () => cancelBeat?.());
    const end = (body: string): void => {
      cancelBeat?.();
      this.#waiting.delete(raw);
      raw.off('close', left);
      if (!raw.destroyed) this.#end(raw, body);
    };
    answer.then(end).catch(() => raw.destroy());
  }

  #end(raw: ServerResponse, body: string): void {
    const bytes = Buffer.byteLength(body);
    this.parts.unsent.open(raw).owe(bytes);
    if (!raw.headersSent)
      raw.writeHead(200, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': String(bytes),
      });
    raw.end(body);
  }
}
