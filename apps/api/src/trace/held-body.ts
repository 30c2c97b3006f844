import type { Place } from '#lib/admission';
import { bodyPieces } from '#lib/http';
import { inflatedPieces } from './inflated-pieces.js';
import type { SentBody } from './sent-body.js';

/** A body with the account of all memory that it takes: its pieces, inflated, and that of their decoder. */
export class HeldBody {
  readonly #sent: SentBody;
  readonly #account: Place;
  readonly #maxBytes: number;
  #windowBytes = 0;

  /** @param maxBytes of a compressed body, before it is inflated and after */
  constructor(sent: SentBody, account: Place, maxBytes: number) {
    this.#sent = sent;
    this.#account = account;
    this.#maxBytes = maxBytes;
  }

  /** @throws PublicError too_many, UnreadableError */
  pieces(): AsyncIterable<Buffer> {
    const { stream, encoding } = this.#sent;
    const { hold } = this.#account;
    if (encoding === undefined) return bodyPieces(stream, hold);
    const holdWindow = (bytes: number): void => {
      if (bytes <= this.#windowBytes) return;
      hold(bytes - this.#windowBytes);
      this.#windowBytes = bytes;
    };
    return inflatedPieces(bodyPieces(stream), { encoding, maxBytes: this.#maxBytes, hold, holdWindow });
  }

  /** Counts so many more bytes, for data that is made of the body. @throws PublicError too_many */
  hold(bytes: number): void {
    this.#account.hold(bytes);
  }

  /** All but so many bytes of the body are no longer held. */
  keep(bytes: number): void {
    this.#account.keep(bytes + this.#windowBytes);
  }

  release(): void {
    this.#account.keep(0);
  }
}
