/** Descriptor by which a host reaches its server: frames both ways. */
export const FRAMES_FD = 3;

/** Descriptor that a host's watch writes to, a line of JSON for each time that the host hangs. */
export const WATCH_FD = 4;

/**
 * Start of an escape in output of `JSON.stringify`: only half a surrogate pair is written so, all other
 * characters are literal.
 */
const MARK = String.raw`\ud`;

const BACKSLASH = 0x5c;
const LETTER_D = 0x64;
const LETTER_F = 0x66;
const LETTER_U = 0x75;

/**
 * A JSON text without halves of surrogate pairs: each becomes U+FFFD. Fast parsers of other languages refuse them, and
 * the way around is a thousand times as slow for the whole text.
 * @param json as `JSON.stringify` writes it
 */
export function wellFormed(json: string): Sent {
  if (!json.includes(MARK)) return json;
  // both escapes have six bytes
  const bytes = Buffer.from(json);
  for (let at = bytes.indexOf(BACKSLASH); at < bytes.length; at++) {
    if (bytes[at] !== BACKSLASH) continue;
    if (bytes[at + 1] === LETTER_U && bytes[at + 2] === LETTER_D) {
      bytes[at + 2] = LETTER_F;
      bytes[at + 3] = LETTER_F;
      bytes[at + 4] = LETTER_F;
      bytes[at + 5] = LETTER_D;
    }
    at++; // one that is escaped escapes nothing
  }
  return bytes;
}

/**
 * One message between the server and a graph host: a kind, the run or question it belongs to, a small JSON
 * document and a text that neither side parses on the way (the data of an event, an answer). Received bodies
 * stay bytes: most are handed on to sockets as they are, and strings of their size would be freed by full
 * collections only.
 *
 * On the wire, integers little-endian, texts UTF-8:
 * `length of what follows: u32 | kind: u8 | id: u32 | length of head: u32 | head | body`
 */
export interface Frame<B = Buffer> {
  /** Number of its kind, see `messages.ts`. */
  readonly kind: number;
  /** Number of the run or the question; 0 for a message of neither. */
  readonly id: number;
  /** JSON text of an object, or empty. */
  readonly head: string;
  /** UTF-8; a received body is a view of the read buffer, to be copied before it is kept. */
  readonly body: B;
}

const LENGTH_BYTES = 4;
const FIXED_BYTES = 9;

/** Size above that of a single read. */
const LARGE_BYTES = 64 * 1024;

/** Longest plausible length: beyond it the other side does not speak this protocol. */
const LONGEST_FRAME_BYTES = 2 ** 31 - 1;

/** A body that is sent: a text, or bytes that were read as such. */
export type Sent = string | Buffer;

/** The other side sends an invalid frame, or one that is too large. */
export class FrameError extends Error {}

/** Frames as bytes, in one piece: frames of one iteration are sent in one write. */
export function encodeFrames(frames: readonly Frame<Sent>[]): Buffer {
  const sizes = frames.map(({ head, body }) => [Buffer.byteLength(head), Buffer.byteLength(body)] as const);
  const total = sizes.reduce((sum, [head, body]) => sum + LENGTH_BYTES + FIXED_BYTES + head + body, 0);
  const bytes = Buffer.allocUnsafe(total);
  let at = 0;
  for (const [index, { kind, id, head, body }] of frames.entries()) {
    const [headBytes, bodyBytes] = sizes[index] ?? [0, 0];
    at = bytes.writeUInt32LE(FIXED_BYTES + headBytes + bodyBytes, at);
    at = bytes.writeUInt8(kind, at);
    at = bytes.writeUInt32LE(id, at);
    at = bytes.writeUInt32LE(headBytes, at);
    at += bytes.write(head, at, 'utf8');
    at += typeof body === 'string' ? bytes.write(body, at, 'utf8') : body.copy(bytes, at);
  }
  return bytes;
}

/** Makes frames of bytes that arrive in any pieces. */
export class FrameReader {
  #pieces: Buffer[] = [];
  /** Buffer of a frame that is larger than a piece. */
  #large: Buffer | undefined;
  #held = 0;
  #needed = LENGTH_BYTES;

  constructor(private readonly maxBytes = LONGEST_FRAME_BYTES) {}

  /**
   * @returns the frames that are complete now
   * @throws FrameError when the bytes are no frames, or one of them is too large: as soon as its length is
   *   here
   */
  read(piece: Buffer): Frame[] {
    if (!this.#large) return this.#readWhole(piece);
    const taken = piece.copy(this.#large, this.#held);
    this.#held += taken;
    if (this.#held < this.#needed) return [];
    const frame = parseFrame(this.#large.subarray(LENGTH_BYTES));
    this.#large = undefined;
    this.#held = 0;
    this.#needed = LENGTH_BYTES;
    return taken === piece.length ? [frame] : [frame, ...this.#readWhole(piece.subarray(taken))];
  }

  #readWhole(piece: Buffer): Frame[] {
    this.#pieces.push(piece);
    this.#held += piece.length;
    if (this.#held < this.#needed) return [];
    const bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces, this.#held);
    const frames: Frame[] = [];
    let at = 0;
    for (;;) {
      const left = bytes.length - at;
      this.#needed = left < LENGTH_BYTES ? LENGTH_BYTES : LENGTH_BYTES + bytes.readUInt32LE(at);
      if (this.#needed > this.maxBytes)
        throw new FrameError(`a frame of ${this.#needed} bytes was announced; the limit is ${this.maxBytes}`);
      if (left < this.#needed) break;
      frames.push(parseFrame(bytes.subarray(at + LENGTH_BYTES, at + this.#needed)));
      at += this.#needed;
    }
    this.#held = bytes.length - at;
    this.#pieces = this.#held > 0 ? [bytes.subarray(at)] : [];
    if (this.#needed >= LARGE_BYTES) this.#awaitLarge();
    return frames;
  }

  /** Allocates a large frame, into which its pieces are copied as they arrive, and are garbage then. */
  #awaitLarge(): void {
    this.#large = Buffer.allocUnsafeSlow(this.#needed);
    this.#pieces[0]?.copy(this.#large);
    this.#pieces = [];
  }
}

function parseFrame(bytes: Buffer): Frame {
  const bodyFrom = FIXED_BYTES + (bytes.length < FIXED_BYTES ? 0 : bytes.readUInt32LE(5));
  if (bytes.length < bodyFrom)
    throw new FrameError(`a frame of ${bytes.length} bytes has no room for its head`);
  return {
    kind: bytes.readUInt8(0),
    id: bytes.readUInt32LE(1),
    head: bytes.toString('utf8', FIXED_BYTES, bodyFrom),
    body: bytes.subarray(bodyFrom),
  };
}
