import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { StreamParts } from './event-stream.js';

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
