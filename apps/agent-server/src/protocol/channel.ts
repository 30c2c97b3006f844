import type { Duplex } from 'node:stream';
import { encodeFrames, FrameReader, type Frame, type Sent } from './frame.js';

/** Unsent bytes above which a sender should wait. */
const HIGH_WATER_BYTES = 4 * 2 ** 20;

/** Buffered texts that are longer together are sent at once: several buffers instead of one huge one. */
const FLUSH_CHARS = 2 ** 20;

/** Frames over a socket or pipe. Frames of one iteration of the event loop are sent in one write. */
export class Channel {
  readonly #socket: Duplex;
  #waiting: Frame<Sent>[] = [];
  #waitingChars = 0;
  #isScheduled = false;
  #drained: Promise<void> | undefined;

  /** @param maxFrameBytes limit of received frames; unlimited by default */
  constructor(
    socket: Duplex,
    private readonly maxFrameBytes?: number,
  ) {
    this.#socket = socket;
  }

  /** Reads until the other side closes or breaks off; `onClosed` comes once. */
  listen(onFrame: (frame: Frame) => void, onClosed: (error: Error | undefined) => void): void {
    const reader = new FrameReader(this.maxFrameBytes);
    let failure: Error | undefined;
    this.#socket.on('data', (piece: Buffer) => {
      try {
        for (const frame of reader.read(piece)) onFrame(frame);
      } catch (error) {
        this.#socket.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    });
    this.#socket.on('error', (error) => (failure = error));
    this.#socket.on('close', () => onClosed(failure));
    this.#socket.on('end', () => this.#socket.destroy());
  }

  /** Queues a frame; drops it once the other side has closed. */
  send(frame: Frame<Sent>): void {
    if (this.#socket.destroyed) return;
    this.#waiting.push(frame);
    this.#waitingChars += frame.body.length;
    if (this.#waitingChars > FLUSH_CHARS) return this.flush();
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.flush());
  }

  /**
   * Sends the buffered frames now, not at the end of this iteration: for a frame that must arrive even if
   * this process then hangs.
   */
  flush(): void {
    this.#isScheduled = false;
    if (this.#waiting.length === 0 || this.#socket.destroyed) return;
    const frames = this.#waiting.splice(0);
    this.#waitingChars = 0;
    this.#socket.write(encodeFrames(frames));
  }

  /** Undefined while the socket accepts more; otherwise resolves when it does again, or has closed. */
  room(): Promise<void> | undefined {
    if (this.#socket.writableLength < HIGH_WATER_BYTES || this.#socket.destroyed) return undefined;
    this.#drained ??= new Promise((resolve) => {
      const done = (): void => {
        this.#socket.off('drain', done);
        this.#socket.off('close', done);
        this.#drained = undefined;
        resolve();
      };
      this.#socket.once('drain', done);
      this.#socket.once('close', done);
    });
    return this.#drained;
  }

  close(): void {
    this.flush();
    this.#socket.end();
  }
}
