const BLOCK_BYTES = 256 << 10;
/** Values from this size on are compressed from where they were read, without a copy in between. */
const BORROWED_BYTES = 1 << 20;
const MAX_FREE_BLOCKS = 4;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Most bytes that one byte of a text becomes in JSON: `\u0000`. */
const MAX_ESCAPED = 6;

/** Control characters for which JSON has short escapes; others have their number. */
const SHORT: Readonly<Record<number, string>> = {
  8: '\\b',
  9: '\\t',
  10: '\\n',
  12: '\\f',
  13: '\\r',
  [QUOTE]: '\\"',
  [BACKSLASH]: '\\\\',
};
/** Escapes in a JSON string by byte. Bytes of characters beyond ASCII are written unchanged. */
const ESCAPES: readonly (Buffer | undefined)[] = Array.from({ length: 256 }, (_, byte) => {
  const isPlain = byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH;
  if (isPlain) return undefined;
  return Buffer.from(SHORT[byte] ?? `\\u${byte.toString(16).padStart(4, '0')}`);
});

/** Bytes that are ready to be compressed. */
export interface LinePiece {
  readonly bytes: Buffer;
  /** True when they are in the tuple that they were read from, line breaks and all. */
  readonly isBorrowed: boolean;
}

/** Collects lines of JSON in blocks of one size, which are used again. */
export class LineBuffer {
  readonly #free: Buffer[] = [];
  #pieces: LinePiece[] = [];
  #block: Buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #at = 0;

  /** True when there are pieces to be taken. */
  get hasPieces(): boolean {
    return this.#pieces.length > 0;
  }

  /** Appends bytes unchanged. */
  raw(bytes: Buffer): void {
    this.#room(bytes.length);
    this.#at += bytes.copy(this.#block, this.#at);
  }

  /** Short ASCII text. */
  ascii(text: string): void {
    this.#room(text.length);
    this.#at += this.#block.write(text, this.#at, 'latin1');
  }

  /** A JSON value as it is stored; line breaks between its tokens, the only ones that JSON has, become blanks. */
  json(source: Buffer, start: number, length: number): void {
    if (length >= BORROWED_BYTES) {
      this.#endBlock();
      this.#pieces.push({ bytes: source.subarray(start, start + length), isBorrowed: true });
      return;
    }
    for (let from = start, end = start + length; from < end;) {
      this.#room(1);
      const count = Math.min(end - from, BLOCK_BYTES - this.#at);
      source.copy(this.#block, this.#at, from, from + count);
      blankBreaks(this.#block.subarray(this.#at, this.#at + count));
      this.#at += count;
      from += count;
    }
  }

  /** A text as a JSON string. */
  text(source: Buffer, start: number, length: number): void {
    this.#room(1);
    this.#block[this.#at++] = QUOTE;
    const end = start + length;
    for (let from = start; from < end;) {
      let next = from;
      while (next < end && ESCAPES[source[next] ?? 0] === undefined) next++;
      for (let plain = from; plain < next;) {
        this.#room(1);
        const count = Math.min(next - plain, BLOCK_BYTES - this.#at);
        this.#at += source.copy(this.#block, this.#at, plain, plain + count);
        plain += count;
      }
      this.#room(MAX_ESCAPED);
      for (; next < end; next++) {
        const escape = ESCAPES[source[next] ?? 0];
        if (!escape) break;
        this.#room(MAX_ESCAPED);
        this.#at += escape.copy(this.#block, this.#at);
      }
      from = next;
    }
    this.#room(1);
    this.#block[this.#at++] = QUOTE;
  }

  /** Takes the finished pieces, in order. @param all takes those of the open block too */
  take(all = false): readonly LinePiece[] {
    if (all) this.#endBlock();
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }

  /** Gives a block back that was compressed. */
  give({ bytes, isBorrowed }: LinePiece): void {
    if (isBorrowed || this.#free.length >= MAX_FREE_BLOCKS) return;
    this.#free.push(Buffer.from(bytes.buffer, 0, BLOCK_BYTES));
  }

  #room(bytes: number): void {
    if (this.#at + bytes > BLOCK_BYTES) this.#endBlock();
  }

  #endBlock(): void {
    if (this.#at === 0) return;
    this.#pieces.push({ bytes: this.#block.subarray(0, this.#at), isBorrowed: false });
    this.#block = this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#at = 0;
  }
}

/** Line breaks of JSON text are between tokens: in strings they are escaped. */
export function blankBreaks(json: Buffer): void {
  for (const lineBreak of [LINE_FEED, CARRIAGE_RETURN])
    for (let at = json.indexOf(lineBreak); at >= 0; at = json.indexOf(lineBreak, at + 1)) json[at] = SPACE;
}
