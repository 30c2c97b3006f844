/** An object's id, of SHA-1 or SHA-256. */
const ENTRY = /^([0-9a-f]{40}|[0-9a-f]{64}) ([^\0\n]+)/;
const HEADER_BYTES = 4;
/** Of a line, by the protocol. */
const MAX_LINE = 65_520;

/** The ref that is wanted, as git names it: `HEAD`, `refs/heads/NAME` or `refs/tags/NAME`. */
export function fullRef(repoRef: string | undefined): string {
  if (repoRef === undefined) return 'HEAD';
  return repoRef.startsWith('refs/') ? repoRef : `refs/heads/${repoRef}`;
}

/**
 * Looks for one ref in what a git host lists (`info/refs?service=git-upload-pack`, protocol version 0): lines with their
 * length before them. An annotated tag is followed by a line `NAME^{}` with the commit that it points to.
 */
export class RefSearch {
  readonly #wanted: string;
  #rest: Buffer = Buffer.alloc(0);
  #found: string | undefined;
  #isOver = false;
  #isOfGit = false;

  constructor(wanted: string) {
    this.#wanted = wanted;
  }

  /** The commit, as far as what came shows it. */
  get commit(): string | undefined {
    return this.#found;
  }

  /** Whether more bytes change nothing. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether what came looks like an answer of git at all. */
  get isOfGit(): boolean {
    return this.#isOfGit;
  }

  push(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (!this.#isOver && this.#rest.length >= HEADER_BYTES) {
      const text = this.#rest.subarray(0, HEADER_BYTES).toString('latin1');
      const length = /^[0-9a-f]{4}$/.test(text) ? Number.parseInt(text, 16) : -1;
      if (length < 0 || length > MAX_LINE) return this.#end();
      // 0000 ends the first part, whose only line names the service
      const bytes = Math.max(HEADER_BYTES, length);
      if (this.#rest.length < bytes) return;
      this.#line(this.#rest.subarray(HEADER_BYTES, bytes).toString());
      this.#rest = this.#rest.subarray(bytes);
    }
  }

  #line(line: string): void {
    if (line.startsWith('# service=git-upload-pack')) this.#isOfGit = true;
    const [, id, name] = ENTRY.exec(line) ?? [];
    const wasFound = this.#found !== undefined;
    if (id !== undefined && name === this.#wanted) this.#found = id;
    else if (id !== undefined && name === `${this.#wanted}^{}`) this.#found = id;
    else if (wasFound) return this.#end();
    if (this.#found !== undefined && !this.#wanted.startsWith('refs/tags/')) this.#end();
  }

  #end(): void {
    this.#isOver = true;
  }
}
