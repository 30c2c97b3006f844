import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from './json-codes.js';
import { atOnce, type JsonWalk } from './json-walk.js';
import { parseJson } from './parse-json.js';

/**
 * A validating JSON scanner over bytes. It finds where members and items begin and end without building
 * values, so that payloads can be stored as the bytes that arrived: parsing and printing again would change
 * numbers, key order, escapes and duplicates. It accepts JSON (RFC 8259) to the letter, nested no deeper than
 * allowed. A text may be as long as a body may be: scans of whole texts are walks, which yield to other work.
 */

/** The text is not JSON, or is nested too deeply. */
export class JsonSyntaxError extends Error {
  constructor(
    message: string,
    /** Byte offset of the mistake. */
    readonly offset: number,
  ) {
    super(`${message} at byte ${offset}`);
    this.name = 'JsonSyntaxError';
  }
}

/** Levels of arrays and objects that ingestion accepts: parsers of readers overflow their stacks far above. */
export const MAX_JSON_DEPTH = 128;

/** 1: ends or interrupts the plain part of a string (quote, backslash, control character). */
const STOPS_STRING = new Uint8Array(256);
STOPS_STRING.fill(1, 0, 0x20);
STOPS_STRING[QUOTE] = 1;
STOPS_STRING[BACKSLASH] = 1;

const IS_HEX = new Uint8Array(256);
for (const digit of '0123456789abcdefABCDEF') IS_HEX[digit.charCodeAt(0)] = 1;
const IS_ESCAPED = new Uint8Array(256);
for (const letter of '"\\/bfnrt') IS_ESCAPED[letter.charCodeAt(0)] = 1;

function fail(bytes: Uint8Array, at: number): never {
  throw new JsonSyntaxError(at >= bytes.length ? 'the JSON ends too early' : 'unexpected character', at);
}

/**
 * Bytes of white space in one place, and digits of a number, a millisecond's work: scans pause between values, and within
 * strings alone.
 */
const MAX_PLAIN = 1 << 20;

function failTooLong(what: string, at: number): never {
  throw new JsonSyntaxError(`more than ${MAX_PLAIN} bytes of ${what}`, at);
}

/**
 * Offset of the first byte at or after `from` that is not white space.
 * @throws JsonSyntaxError when it is very far
 */
export function skipSpace(bytes: Uint8Array, from: number): number {
  for (let at = from; ; at++) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    if (at - from >= MAX_PLAIN) failTooLong('white space', from);
  }
}

/** Bytes between two pauses: some milliseconds for the worst text. */
const STRETCH = 64 * 1024;

/**
 * The offset after the string that contains `at`, outside of an escape.
 * @param until offset at which the scan pauses
 * @returns for a string that continues there `~` of the place, a negative number
 */
function endOfString(bytes: Uint8Array, at: number, until: number): number {
  const end = bytes.length < until ? bytes.length : until;
  let i = at;
  for (;;) {
    while (i < end && STOPS_STRING[bytes[i] as number] === 0) i++;
    if (i >= until) return ~i;
    const byte = bytes[i];
    if (byte === QUOTE) return i + 1;
    if (byte !== BACKSLASH) fail(bytes, i);
    const escape = bytes[i + 1] ?? 0;
    if (IS_ESCAPED[escape] === 1) i += 2;
    else if (escape === 0x75) {
      for (let digit = i + 2; digit < i + 6; digit++) if (IS_HEX[bytes[digit] ?? 0] !== 1) fail(bytes, digit);
      i += 6;
    } else fail(bytes, i + 1);
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function skipDigits(bytes: Uint8Array, from: number): number {
  let at = from;
  if (!isDigit(bytes[at])) fail(bytes, at);
  do if (++at - from > MAX_PLAIN) failTooLong('digits', from);
  while (isDigit(bytes[at]));
  return at;
}

function skipNumber(bytes: Uint8Array, at: number): number {
  if (bytes[at] === 0x2d) at++;
  at = bytes[at] === 0x30 ? at + 1 : skipDigits(bytes, at);
  if (bytes[at] === 0x2e) at = skipDigits(bytes, at + 1);
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    at++;
    if (bytes[at] === 0x2b || bytes[at] === 0x2d) at++;
    at = skipDigits(bytes, at);
  }
  return at;
}

const WORDS = ['true', 'false', 'null'].map((word) => Buffer.from(word));

/** Words of Python's serialiser for numbers that JSON cannot express. */
const NON_FINITE = ['NaN', 'Infinity', '-Infinity'].map((word) => Buffer.from(word));

/** True when `word` is at `at`. */
export function isAt(bytes: Uint8Array, at: number, word: Uint8Array): boolean {
  for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word[i]) return false;
  return true;
}

function skipNonFinite(bytes: Uint8Array, at: number): number | undefined {
  for (const word of NON_FINITE) if (isAt(bytes, at, word)) return at + word.length;
  return undefined;
}

/** Anything but a string. */
function skipScalar(bytes: Uint8Array, at: number, isLenient: boolean): number {
  const byte = bytes[at];
  if (isLenient && (byte === 0x4e || byte === 0x49 || (byte === 0x2d && bytes[at + 1] === 0x49))) {
    const end = skipNonFinite(bytes, at);
    if (end !== undefined) return end;
  }
  if (byte === 0x2d || isDigit(byte)) return skipNumber(bytes, at);
  for (const word of WORDS) {
    if (word[0] !== byte) continue;
    for (let i = 1; i < word.length; i++) if (bytes[at + i] !== word[i]) fail(bytes, at + i);
    return at + word.length;
  }
  return fail(bytes, at);
}

/** The same as {@link endOfString}, for the name that begins at `at`. */
function skipName(bytes: Uint8Array, at: number, until: number): number {
  at = skipSpace(bytes, at);
  if (bytes[at] !== QUOTE) fail(bytes, at);
  return endOfString(bytes, at + 1, until);
}

/** The offset after the colon that follows a name. */
function skipColon(bytes: Uint8Array, at: number): number {
  at = skipSpace(bytes, at);
  if (bytes[at] !== COLON) fail(bytes, at);
  return at + 1;
}

/**
 * True for each open level of the value being skipped that is an object. One array serves all: no value is
 * skipped inside of another.
 */
let isObject = new Uint8Array(MAX_JSON_DEPTH + 1);

type Within = 'value' | 'string' | 'name';

/**
 * Position at which the scan of a value paused: before a value, or within a string or a name, at so many open
 * levels.
 */
const paused = { at: 0, depth: 0, within: 'value' as Within };

function pause(within: Within, at: number, depth: number): -1 {
  paused.within = within;
  paused.at = at;
  paused.depth = depth;
  return -1;
}

/** Rules for skipping a value. */
interface SkipRules {
  /** Maximum number of levels of nesting. */
  readonly levels: number;
  /** True when NaN and Infinity pass for numbers. */
  readonly isLenient: boolean;
}

/**
 * Validates the value that begins at `at` (white space before it is allowed), or the rest of one that paused there.
 * @returns the offset after its last byte; -1 after a stretch, with the place in {@link paused}
 * @throws JsonSyntaxError
 */
function skipValue(
  bytes: Uint8Array,
  at: number,
  { levels, isLenient }: SkipRules,
  within: Within = 'value',
  depth = 0,
): number {
  const until = at + STRETCH;
  // a value may be two bytes long: an array for each would take a hundred times its bytes
  if (isObject.length <= levels) isObject = new Uint8Array(levels + 1);
  let hasEnded = within === 'string';
  if (within !== 'value') {
    at = endOfString(bytes, at, until);
    if (at < 0) return pause(within, ~at, depth);
    if (within === 'name') at = skipColon(bytes, at);
  }
  for (;;) {
    if (!hasEnded) {
      at = skipSpace(bytes, at);
      if (at >= until) return pause('value', at, depth);
      const byte = bytes[at];
      if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (++depth > levels) throw new JsonSyntaxError(`nested deeper than ${levels} levels`, at);
        isObject[depth] = byte === OPEN_OBJECT ? 1 : 0;
        const next = skipSpace(bytes, at + 1);
        const isEmpty = bytes[next] === (byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY);
        if (!isEmpty) {
          at = next;
          if (byte === OPEN_ARRAY) continue;
          at = skipName(bytes, at, until);
          if (at < 0) return pause('name', ~at, depth);
          at = skipColon(bytes, at);
          continue;
        }
        at = next + 1;
        depth--;
      } else if (byte === QUOTE) {
        at = endOfString(bytes, at + 1, until);
        if (at < 0) return pause('string', ~at, depth);
      } else at = skipScalar(bytes, at, isLenient);
    }
    hasEnded = false;
    // a value has ended: close whatever ends with it
    for (;;) {
      if (depth === 0) return at;
      at = skipSpace(bytes, at);
      if (bytes[at] === COMMA) {
        at++;
        if (isObject[depth] === 0) break;
        at = skipName(bytes, at, until);
        if (at < 0) return pause('name', ~at, depth);
        at = skipColon(bytes, at);
        break;
      }
      if (bytes[at] !== (isObject[depth] === 1 ? CLOSE_OBJECT : CLOSE_ARRAY)) fail(bytes, at);
      at++;
      depth--;
    }
  }
}

/** The rest of a value whose scan has just paused. @returns the offset after its last byte. @throws JsonSyntaxError */
function* skipRest(bytes: Uint8Array, rules: SkipRules): JsonWalk<number> {
  for (;;) {
    const { at, depth, within } = paused;
    const levels = isObject.slice(0, depth + 1);
    yield undefined;
    // others skipped theirs meanwhile
    isObject.set(levels);
    const end = skipValue(bytes, at, rules, within, depth);
    if (end >= 0) return end;
  }
}

/** Range of a value: from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Options for reading the values of an object or array. */
export interface ScanOptions {
  /** Levels of nesting that the whole may have. */
  readonly levels?: number;
  /** True when NaN and Infinity pass for numbers: a text with them is to be repaired before it is stored. */
  readonly isLenient?: boolean;
}

/**
 * Calls `visit` with the name and place of each member of the object at `at`, after validating the member's value; a walk
 * that it answers is gone before the next.
 * @returns the offset after the object
 * @throws JsonSyntaxError, also when it is no object
 */
export function* eachMember(
  bytes: Buffer,
  at: number,
  visit: (name: string, range: ByteRange) => JsonWalk<unknown> | void,
  { levels = MAX_JSON_DEPTH, isLenient = false }: ScanOptions = {},
): JsonWalk<number> {
  const rules: SkipRules = { levels: levels - 1, isLenient };
  at = skipSpace(bytes, at);
  if (bytes[at] !== OPEN_OBJECT) throw new JsonSyntaxError('an object was expected', at);
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === CLOSE_OBJECT) return at + 1;
  let pausedAt = at;
  for (;;) {
    const nameStart = skipSpace(bytes, at);
    let nameEnd = skipName(bytes, nameStart, nameStart + STRETCH);
    while (nameEnd < 0) {
      yield undefined;
      nameEnd = endOfString(bytes, ~nameEnd, ~nameEnd + STRETCH);
    }
    const start = skipSpace(bytes, skipColon(bytes, nameEnd));
    let end = skipValue(bytes, start, rules);
    if (end < 0) end = yield* skipRest(bytes, rules);
    const work = visit(readName(bytes, nameStart, nameEnd), { start, end });
    if (work) yield* work;
    if (end - pausedAt > STRETCH) {
      yield undefined;
      pausedAt = end;
    }
    at = skipSpace(bytes, end);
    if (bytes[at] === CLOSE_OBJECT) return at + 1;
    if (bytes[at] !== COMMA) fail(bytes, at);
    at++;
  }
}

/**
 * Maximum length of a name that is read; the beginning represents a longer one, since no known name is as
 * long.
 */
const MAX_NAME_BYTES = 65_536;

function readName(bytes: Buffer, start: number, end: number): string {
  if (end - start > MAX_NAME_BYTES) return bytes.toString('utf8', start + 1, start + MAX_NAME_BYTES);
  const plain = bytes.toString('latin1', start + 1, end - 1);
  if (/^[\w.-]*$/.test(plain)) return plain;
  // making a parser takes four times as long as the name
  if (!plain.includes('\\')) return bytes.toString('utf8', start + 1, end - 1);
  return parseJson(bytes.toString('utf8', start, end)) as string;
}

/**
 * Calls `visit` with the place of each item of the array at `at`, after validating it; `false` from `visit` means that
 * no more items are wanted, the rest is only validated. A walk that it answers is gone before the next.
 * @returns the offset after the array
 * @throws JsonSyntaxError, also when it is no array
 */
export function* eachItem(
  bytes: Buffer,
  at: number,
  visit: (range: ByteRange) => JsonWalk<boolean | void> | boolean | void,
  { levels = MAX_JSON_DEPTH, isLenient = false }: ScanOptions = {},
): JsonWalk<number> {
  const rules: SkipRules = { levels: levels - 1, isLenient };
  at = skipSpace(bytes, at);
  if (bytes[at] !== OPEN_ARRAY) throw new JsonSyntaxError('an array was expected', at);
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === CLOSE_ARRAY) return at + 1;
  let wanted = true;
  let pausedAt = at;
  for (;;) {
    const start = skipSpace(bytes, at);
    let end = skipValue(bytes, start, rules);
    if (end < 0) end = yield* skipRest(bytes, rules);
    if (wanted) {
      const answer = visit({ start, end });
      wanted = (typeof answer === 'object' ? yield* answer : answer) !== false;
    }
    if (end - pausedAt > STRETCH) {
      yield undefined;
      pausedAt = end;
    }
    at = skipSpace(bytes, end);
    if (bytes[at] === CLOSE_ARRAY) return at + 1;
    if (bytes[at] !== COMMA) fail(bytes, at);
    at++;
  }
}

/**
 * Validates that `bytes` hold one JSON value and nothing after it but white space.
 * @throws JsonSyntaxError
 */
export function* validatingJson(bytes: Uint8Array, levels = MAX_JSON_DEPTH): JsonWalk<void> {
  const rules: SkipRules = { levels, isLenient: false };
  let end = skipValue(bytes, 0, rules);
  if (end < 0) end = yield* skipRest(bytes, rules);
  expectEnd(bytes, end);
}

/** The same as {@link validatingJson}, at once. @throws JsonSyntaxError */
export function validateJson(bytes: Uint8Array, levels = MAX_JSON_DEPTH): void {
  atOnce(validatingJson(bytes, levels));
}

/** @throws JsonSyntaxError when something other than white space follows `at` */
export function expectEnd(bytes: Uint8Array, at: number): void {
  const end = skipSpace(bytes, at);
  if (end < bytes.length) throw new JsonSyntaxError('unexpected text after the JSON value', end);
}
