import { setImmediate } from 'node:timers/promises';
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-codes.js';

/** Part of a JSON text: the value from `start` to before `end`. */
export interface JsonSpan {
  readonly start: number;
  readonly end: number;
}

/** A member of an object; the span is that of its value. */
export interface JsonMember extends JsonSpan {
  readonly name: string;
}

/**
 * A walk through a JSON text that builds no values: parsed they may take twenty times the length of their
 * text. It yields `undefined` at pauses, so that texts of any length do not block others; {@link inTurns}
 * runs it. Its result for a text that is not JSON is not defined: it is for texts that a serialiser wrote.
 */
export type JsonWalk<T> = Generator<undefined, T, undefined>;

/** Characters between two pauses: some tenths of a millisecond. */
export const STRETCH = 64 * 1024;

/** Number of stretches per turn of the event loop. */
const STRETCHES = 4;

/**
 * Runs a walk to its end, yielding to other work in between.
 * @param signal ends it: its result is no longer needed
 */
export async function inTurns<T>(walk: JsonWalk<T>, signal?: AbortSignal): Promise<T> {
  for (let stretches = 1; ; stretches++) {
    const step = walk.next();
    if (step.done) return step.value;
    if (stretches % STRETCHES > 0) continue;
    await setImmediate();
    signal?.throwIfAborted();
  }
}

/** Runs a walk to its end at once: for texts that are known to be short. */
export function atOnce<T>(walk: JsonWalk<T>): T {
  for (;;) {
    const step = walk.next();
    if (step.done) return step.value;
  }
}

/** The members of the object that begins at `start`, in their order; none if another value begins there. */
export function* membersOf(json: string, start = 0): Generator<JsonMember | undefined, void, undefined> {
  const open = skipBlank(json, start);
  if (json.charCodeAt(open) !== OPEN_OBJECT) return;
  let pausedAt = open;
  for (let at = skipBlank(json, open + 1); json.charCodeAt(at) === QUOTE;) {
    const nameEnd = yield* endOfAnyString(json, at);
    const from = skipBlank(json, skipBlank(json, nameEnd) + 1);
    const end = yield* endOfValue(json, from);
    yield { name: nameAt(json, at, nameEnd), start: from, end };
    if (end - pausedAt > STRETCH) {
      yield undefined;
      pausedAt = end;
    }
    at = skipBlank(json, skipBlank(json, end) + 1);
  }
}

/** The items of the list that begins at `start`, in their order; none if another value begins there. */
export function* itemsOf(json: string, start = 0): Generator<JsonSpan | undefined, void, undefined> {
  const open = skipBlank(json, start);
  if (json.charCodeAt(open) !== OPEN_ARRAY) return;
  let pausedAt = open;
  for (let at = skipBlank(json, open + 1); at < json.length && json.charCodeAt(at) !== CLOSE_ARRAY;) {
    const end = yield* endOfValue(json, at);
    yield { start: at, end };
    if (end - pausedAt > STRETCH) {
      yield undefined;
      pausedAt = end;
    }
    const next = skipBlank(json, end);
    if (json.charCodeAt(next) !== COMMA) return;
    at = skipBlank(json, next + 1);
  }
}

/** A step of a path: a name, or a place in a list, from its end when negative. */
export type JsonStep = string | number;

/**
 * The value at the end of a path; undefined when the path does not exist. If members have one name, the last
 * counts, as for parsers.
 */
export function* valueAt(json: string, path: readonly JsonStep[], from = 0): JsonWalk<JsonSpan | undefined> {
  let found: JsonSpan | undefined = { start: skipBlank(json, from), end: json.length };
  for (const step of path) {
    found = yield* typeof step === 'string'
      ? memberNamed(json, found.start, step)
      : itemNumbered(json, found.start, step);
    if (!found) return undefined;
  }
  return path.length > 0 ? found : { start: found.start, end: yield* endOfValue(json, found.start) };
}

function* memberNamed(json: string, start: number, name: string): JsonWalk<JsonSpan | undefined> {
  let found: JsonSpan | undefined;
  for (const member of membersOf(json, start)) {
    if (!member) yield undefined;
    else if (member.name === name) found = member;
  }
  return found;
}

function* itemNumbered(json: string, start: number, number: number): JsonWalk<JsonSpan | undefined> {
  let at = number;
  if (number < 0)
    for (const item of itemsOf(json, start)) {
      if (item) at++;
      else yield undefined;
    }
  if (at < 0) return undefined;
  for (const item of itemsOf(json, start)) {
    if (!item) yield undefined;
    else if (at-- === 0) return item;
  }
  return undefined;
}

function nameAt(json: string, start: number, end: number): string {
  const raw = json.slice(start + 1, end - 1);
  return raw.includes('\\') ? String(JSON.parse(json.slice(start, end))) : raw;
}

function skipBlank(json: string, from: number): number {
  let at = from;
  for (;;) {
    const code = json.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at++;
  }
}

/** Offset behind the value that begins at `start`. */
function* endOfValue(json: string, start: number): JsonWalk<number> {
  if (json.charCodeAt(start) === QUOTE) return yield* endOfAnyString(json, start);
  let depth = 0;
  let pausedAt = start;
  for (let at = start; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfShortString(json, at);
        at = (end >= 0 ? end : yield* endOfAnyString(json, at)) - 1;
        break;
      }
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth++;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (depth === 0) return at;
        if (--depth === 0) return at + 1;
        break;
      case COMMA:
        if (depth === 0) return at;
        break;
      default: // part of a number or a word
    }
    if (at - pausedAt > STRETCH) {
      yield undefined;
      pausedAt = at;
    }
  }
  return json.length;
}

/** Number of quotes within a string, and of backslashes before each, that are read without a pause. */
const FEW = 64;

/** The same as {@link endOfAnyString}; -1 for a string that takes pauses. */
export function endOfShortString(json: string, start: number): number {
  let at = json.indexOf('"', start + 1);
  for (let quotes = 0; quotes < FEW; quotes++) {
    if (at < 0) return json.length;
    let backslashes = 0;
    while (backslashes < FEW && json.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes === FEW) return -1;
    if (backslashes % 2 === 0) return at + 1;
    at = json.indexOf('"', at + 1);
  }
  return -1;
}

/** Offset behind the quote that ends the string which begins at `start`. */
export function* endOfAnyString(json: string, start: number): JsonWalk<number> {
  const end = endOfShortString(json, start);
  if (end >= 0) return end;
  let pausedAt = start;
  for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(at - 1 - backslashes) === BACKSLASH)
      if (++backslashes % STRETCH === 0) yield undefined;
    if (backslashes % 2 === 0) return at + 1;
    if (at - pausedAt > STRETCH) {
      yield undefined;
      pausedAt = at;
    }
  }
  return json.length;
}
