import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipSpace,
} from '#lib/json';
import type { PairsToRead } from '../run/run-pairs.js';
import type { RunChange } from '../wire/run-operation.js';

/** Pairs that are taken from one value. */
const MAX_PAIRS = 100;
/** Characters of a value; a key that is longer has no pair. */
const MAX_CHARS = 250;
/** Bytes that are searched; text after them is ignored, since a conversation may be megabytes long. */
const MAX_PAIRS_BYTES = 65_536;
/** An escape takes six bytes for a character. */
const MAX_VALUE_BYTES = MAX_CHARS * 6;

const LETTER_N = 0x6e;
const ESCAPED: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** A scalar of a JSON value with the names that lead to it. */
export interface ScalarPair {
  readonly key: string;
  readonly value: string;
}

/**
 * Short scalars of a JSON object that was validated before: names joined by dots, levels of lists left out, so
 * `{"messages":[{"content":"hi"}]}` has the pair `messages.content`, `hi`. Bounded in number, length, and in how far
 * is read. Nulls have none.
 */
export function scalarPairs(bytes: Buffer, from = 0): readonly ScalarPair[] {
  const reader = new PairReader(bytes, from);
  reader.readObject();
  return [...reader.pairs.values()];
}

class PairReader {
  readonly pairs = new Map<string, ScalarPair>();
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;

  constructor(bytes: Buffer, from: number) {
    this.#end = Math.min(bytes.length, from + MAX_PAIRS_BYTES);
    // a value that begins before the end is read up to its kept length; the end of a longer one does not
    // matter
    this.#bytes = bytes.subarray(0, this.#end + MAX_VALUE_BYTES + 2);
    this.#at = skipSpace(this.#bytes, from);
  }

  readObject(): void {
    if (this.#bytes[this.#at] === OPEN_OBJECT) this.#object('');
  }

  get #isOver(): boolean {
    return this.#at >= this.#end || this.pairs.size >= MAX_PAIRS;
  }

  #object(path: string): void {
    this.#at = skipSpace(this.#bytes, this.#at + 1);
    if (this.#bytes[this.#at] === CLOSE_OBJECT) {
      this.#at++;
      return;
    }
    while (!this.#isOver) {
      const name = this.#string();
      // the colon
      this.#at = skipSpace(this.#bytes, skipSpace(this.#bytes, this.#at) + 1);
      this.#value(name === undefined ? undefined : path === '' ? name : `${path}.${name}`);
      if (!this.#hasNext()) return;
    }
  }

  #list(path: string | undefined): void {
    this.#at = skipSpace(this.#bytes, this.#at + 1);
    if (this.#bytes[this.#at] === CLOSE_ARRAY) {
      this.#at++;
      return;
    }
    while (!this.#isOver) {
      this.#value(path);
      if (!this.#hasNext()) return;
    }
  }

  /** Skips the comma after a member or an item, or the end of its container. */
  #hasNext(): boolean {
    this.#at = skipSpace(this.#bytes, this.#at);
    const isComma = this.#bytes[this.#at] === COMMA;
    this.#at = skipSpace(this.#bytes, this.#at + 1);
    return isComma;
  }

  /** @param path undefined when a name is too long */
  #value(path: string | undefined): void {
    if (this.#at >= this.#end) return;
    const first = this.#bytes[this.#at];
    if (first === OPEN_OBJECT) this.#object(path ?? '\0');
    else if (first === OPEN_ARRAY) this.#list(path);
    else if (first === QUOTE) this.#add(path, this.#string(true));
    else this.#add(path, this.#word());
  }

  #add(path: string | undefined, value: string | undefined): void {
    if (path === undefined || value === undefined || path.length > MAX_CHARS || path.includes('\0')) return;
    this.pairs.set(`${path}\0${value}`, { key: path, value });
  }

  /** A number, true or false; undefined for null. */
  #word(): string | undefined {
    const start = this.#at;
    for (; this.#at < this.#bytes.length; this.#at++) {
      const byte = this.#bytes[this.#at] ?? 0;
      if (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || byte <= 0x20) break;
    }
    if (this.#bytes[start] === LETTER_N) return undefined;
    return this.#bytes.toString('latin1', start, Math.min(this.#at, start + MAX_CHARS));
  }

  /**
   * The string that begins here; `#at` is behind it then.
   * @param isCut whether a longer one is cut; else it is undefined
   */
  #string(isCut = false): string | undefined {
    const start = this.#at + 1;
    const end = this.#endOfString(start);
    this.#at = end + 1;
    if (!isCut && end - start > MAX_VALUE_BYTES) return undefined;
    const text = unescaped(this.#bytes.toString('utf8', start, Math.min(end, start + MAX_VALUE_BYTES)));
    if (text.length > MAX_CHARS && !isCut) return undefined;
    return text.slice(0, MAX_CHARS).replaceAll('\0', '\uFFFD').toWellFormed();
  }

  /** Index of the closing quote of the string that begins at `start`, or the end of reading. */
  #endOfString(start: number): number {
    for (let at = this.#bytes.indexOf(QUOTE, start); at >= 0; at = this.#bytes.indexOf(QUOTE, at + 1))
      if (!isEscaped(this.#bytes, at, start)) return at;
    return this.#bytes.length;
  }
}

function isEscaped(bytes: Buffer, at: number, start: number): boolean {
  let before = at;
  while (before > start && bytes[before - 1] === BACKSLASH) before--;
  return (at - before) % 2 === 1;
}

function unescaped(raw: string): string {
  if (!raw.includes('\\')) return raw;
  let text = '';
  for (let at = 0; at < raw.length && text.length <= MAX_CHARS; at++) {
    const char = raw[at] ?? '';
    if (char !== '\\') text += char;
    else if (raw[++at] === 'u') {
      text += String.fromCharCode(Number.parseInt(raw.slice(at + 1, at + 5), 16));
      at += 4;
    } else text += ESCAPED[raw[at] ?? ''] ?? raw[at] ?? '';
  }
  return text;
}

/**
 * The pairs of a run's metadata, from the change whose `extra` is stored: `extra` was walked through when it was parsed, and
 * may be as long as a body.
 */
export function metadataPairs(changes: readonly RunChange[], extra: Buffer | undefined): PairsToRead {
  const metadata = extra && changes.find(({ payloads }) => payloads.extra === extra)?.metadata;
  return {
    bytes: Math.min(metadata?.length ?? 0, MAX_PAIRS_BYTES),
    read: () => (metadata ? scalarPairs(metadata) : []),
  };
}
