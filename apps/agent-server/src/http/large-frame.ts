import { partsOf, sizeOf, type OutgoingFrame } from '../log/outgoing-frame.js';
import type { UnsentAnswer } from './unsent-output.js';

/**
 * A large frame that is sent in pieces as its client takes them. While the log holds the event, a reader in
 * the middle of it costs only a position; a frame that the log has dropped is owed to this client alone.
 * Pieces are copies: one of 64 KB at a connection would keep megabytes alive.
 */
export class LargeFrame {
  readonly #parts: Buffer[];
  readonly #size: number;
  readonly #stopListening: (() => void) | undefined;
  #owed = 0;
  #offset = 0;

  constructor(
    frame: OutgoingFrame,
    private readonly account: UnsentAnswer,
  ) {
    this.#parts = partsOf(frame);
    this.#size = sizeOf(frame);
    if (frame.of?.isKept) this.#stopListening = frame.of.onceDropped(() => this.#owe());
    else this.#owe();
  }

  /** All of it was taken. */
  get isDone(): boolean {
    return this.#parts.length === 0;
  }

  /** The next bytes, up to a maximum. */
  take(maxBytes: number): Buffer {
    const pieces: Buffer[] = [];
    let left = maxBytes;
    while (left > 0) {
      const [part] = this.#parts;
      if (!part) break;
      const piece = part.subarray(this.#offset, this.#offset + left);
      pieces.push(piece);
      left -= piece.length;
      this.#offset += piece.length;
      if (this.#offset < part.length) break;
      this.#parts.shift();
      this.#offset = 0;
    }
    if (this.isDone) this.close();
    return Buffer.concat(pieces);
  }

  /** Nothing more of it is sent. */
  close(): void {
    this.#stopListening?.();
    this.#parts.length = 0;
    this.account.paid(this.#owed);
    this.#owed = 0;
  }

  #owe(): void {
    this.#owed = this.#size;
    this.account.owe(this.#size);
  }
}
