/** An object's id, of SHA-1 or SHA-256. */
const ID = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
const [SHA_1, SHA_256] = [40, 64];
const HEADER_BYTES = 4;
/** Maximum length of a line, by the protocol. */
const MAX_LINE = 65_520;
const SERVICE = '# service=git-upload-pack';
const [SPACE, END] = [0x20, 0x0a];
/** Values of the letters of hexadecimal numbers, by byte; of all others, more than any length. */
const DIGITS = Array.from({ length: 256 }, (_, byte) => {
  const value = '0123456789abcdef'.indexOf(String.fromCharCode(byte));
  return value < 0 ? 0x1_0000 : value;
});
const PEELED = Buffer.from('^{}');

/** The ref that is wanted, as git names it: `HEAD`, `refs/heads/NAME` or `refs/tags/NAME`. */
export function fullRef(repoRef: string | undefined): string {
  if (repoRef === undefined) return 'HEAD';
  return repoRef.startsWith('refs/') ? repoRef : `refs/heads/${repoRef}`;
}

/**
 * Looks for one ref in the list of a git host (`info/refs?service=git-upload-pack`, protocol version 0):
 * lines with their length before them. An annotated tag is followed by a line `NAME^{}` with the commit that
 * it points to. The host is untrusted, and the list is read beside the work of the controller: each byte is
 * copied once at most, in however small pieces it comes, and only the wanted line becomes a text.
 */
export class RefSearch {
  readonly #wanted: string;
  readonly #name: Buffer;
  /** Received bytes that are no whole line yet. */
  #waiting: Buffer[] = [];
  #bytes = 0;
  /** Bytes with which the next line, or its length, is complete. */
  #needed = HEADER_BYTES;
  #parts = 0;
  #found: string | undefined;
  #isOver = false;
  #isOfGit = false;

  constructor(wanted: string) {
    this.#wanted = wanted;
    this.#name = Buffer.from(wanted);
  }

  /** The commit, as far as what came shows it. */
  get commit(): string | undefined {
    return this.#found;
  }

  /** True when more bytes change nothing. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** True when the received bytes look like an answer of git. */
  get isOfGit(): boolean {
    return this.#isOfGit;
  }

  push(chunk: Buffer): void {
    this.#waiting.push(chunk);
    this.#bytes += chunk.length;
    if (this.#isOver || this.#bytes < this.#needed) return;
    const data = this.#waiting.length === 1 ? chunk : Buffer.concat(this.#waiting);
    let at = 0;
    while (!this.#isOver) {
      this.#needed = HEADER_BYTES;
      if (data.length - at < HEADER_BYTES) break;
      const length = lengthAt(data, at);
      if (length > MAX_LINE) return this.#end();
      // the first part has one line, which names the service; the second has the refs
      if (length === 0 && ++this.#parts === 2) return this.#end();
      this.#needed = Math.max(HEADER_BYTES, length);
      if (data.length - at < this.#needed) break;
      if (length > 0) this.#line(data.subarray(at + HEADER_BYTES, at + this.#needed));
      at += this.#needed;
    }
    const rest = data.subarray(at);
    this.#waiting = [rest];
    this.#bytes = rest.length;
  }

  #line(line: Buffer): void {
    const idLength = line[SHA_1] === SPACE ? SHA_1 : SHA_256;
    if (line[idLength] !== SPACE) return this.#other(line);
    const nameEnd = idLength + 1 + this.#name.length;
    const isNamed = line.subarray(idLength + 1, nameEnd).equals(this.#name);
    const isPeeled = isNamed && line.subarray(nameEnd, nameEnd + PEELED.length).equals(PEELED);
    const isWanted = isNamed && isEndOfName(line[isPeeled ? nameEnd + PEELED.length : nameEnd]);
    const id = isWanted ? line.toString('latin1', 0, idLength) : '';
    if (ID.test(id)) this.#found = id;
    else if (this.#found !== undefined) return this.#end();
    if (this.#found !== undefined && !this.#wanted.startsWith('refs/tags/')) this.#end();
  }

  /**
   * The name of the service, once. Any other line that names no ref comes behind the last one, or the text is
   * no list of refs.
   */
  #other(line: Buffer): void {
    const isService = line.toString('latin1', 0, SERVICE.length) === SERVICE;
    if (!isService || this.#isOfGit) this.#end();
    this.#isOfGit = isService || (this.#isOfGit && line.length >= SHA_1);
  }

  #end(): void {
    this.#isOver = true;
    this.#waiting = [];
  }
}

/** The capabilities of the host follow the first name. */
function isEndOfName(byte: number | undefined): boolean {
  return byte === undefined || byte === 0 || byte === END;
}

/** Length of a line, its length field included. */
function lengthAt(data: Buffer, at: number): number {
  let length = 0;
  for (let end = at + HEADER_BYTES; at < end; at++) length = length * 16 + (DIGITS[data[at] ?? 0] ?? 0);
  return length;
}
