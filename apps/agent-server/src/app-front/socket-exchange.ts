import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { constants, type OutgoingHttpHeaders } from 'node:http2';
import { Duplex } from 'node:stream';
import type { AppExchange } from './app-exchange.js';

/**
 * A request over a local socket, with a separate connection: an app that breaks off breaks off nothing else.
 */
export class SocketExchange extends Duplex implements AppExchange {
  rstCode: number | undefined;
  readonly #asked: ClientRequest;
  #answer: IncomingMessage | undefined;

  /** @param headers with `:method` and `:path` */
  constructor(socketPath: string, headers: OutgoingHttpHeaders, isWhole: boolean) {
    super();
    const { ':method': method, ':path': path, ...sent } = headers;
    this.#asked = request({
      socketPath,
      method: String(method),
      path: String(path),
      headers: { ...sent, ...(isWhole ? {} : { 'transfer-encoding': 'chunked' }) },
      agent: false,
      setDefaultHeaders: false,
    });
    this.#asked.once('response', (answer) => this.#answered(answer));
    this.#asked.on('error', () => this.#broken());
    if (isWhole) {
      this.#asked.end();
      this.end();
    } else this.#asked.flushHeaders();
  }

  close(code: number = constants.NGHTTP2_NO_ERROR): void {
    this.rstCode ??= code;
    this.destroy();
  }

  override _write(piece: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    // the rest of a body after its answer is of no use, and no reason to lose the answer
    this.#asked.write(piece, () => done());
  }

  override _final(done: () => void): void {
    this.#asked.end();
    done();
  }

  override _read(): void {
    this.#answer?.resume();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#asked.destroy();
    done(error);
  }

  #answered(answer: IncomingMessage): void {
    this.#answer = answer;
    answer.pause();
    this.emit('response', { ...answer.headers, ':status': answer.statusCode });
    answer.on('data', (piece: Buffer) => {
      if (!this.push(piece)) answer.pause();
    });
    answer.once('end', () => this.push(null));
    // also for a socket that has ended normally
    answer.once('close', () => !answer.complete && this.#broken());
  }

  #broken(): void {
    this.rstCode ??= constants.NGHTTP2_INTERNAL_ERROR;
    this.destroy();
  }
}
