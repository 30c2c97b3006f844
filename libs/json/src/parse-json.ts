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
import { atOnce, endOfAnyString, endOfShortString, type JsonWalk, STRETCH } from './json-walk.js';

/**
 * `JSON.parse` for texts of others. V8 (12.8 to 14.6 at least: Node 24 and 26, nodejs/node#63785) takes a
 * name with an escape for another one in its memory: after `{"h":0,"\\":0}` was parsed by any caller,
 * `{"h":0,"\n":0}` has the name `\`. One caller can so change the data that others store: Python's clients
 * escape every name that is not ASCII. Texts with such names are read here; all others have nothing that
 * could be taken for another.
 * @throws SyntaxError as `JSON.parse`
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return hasEscapedName(text) ? atOnce(reading(text)) : value;
}

const LONG_INTEGER = /[0-9]{16}/;

/**
 * The same, and integers of 64 bits that a number cannot hold become a bigint, which is written as it was (`exactIntegers`).
 * @throws SyntaxError as `JSON.parse`
 */
export function parseExactJson(text: string): unknown {
  if (!LONG_INTEGER.test(text)) return parseJson(text);
  JSON.parse(text);
  return atOnce(reading(text, exactLiteral));
}

function exactLiteral(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return typeof value === 'number' ? exactInteger(text, value) : value;
}

/** A number by its text: a bigint for an integer of 64 bits that no number is. */
export function exactInteger(text: string, value: number): number | bigint {
  if (Number.isSafeInteger(value) || !/^-?[0-9]+$/.test(text)) return value;
  const exact = BigInt(text);
  return BigInt.asIntN(64, exact) === exact ? exact : value;
}

/** Has `JSON.stringify` write a bigint with all of its digits, in this program. */
export function exactIntegers(): void {
  const { rawJSON } = JSON as typeof JSON & { readonly rawJSON: (text: string) => unknown };
  Object.defineProperty(BigInt.prototype, 'toJSON', {
    value(this: bigint) {
      return rawJSON(this.toString());
    },
    configurable: true,
    writable: true,
  });
}

/** True when a name of a member is written with an escape, in a text that is JSON. */
function hasEscapedName(text: string): boolean {
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', at)) {
    at = skipSpace(text, endOfString(text, at));
    if (text.charCodeAt(at) === COLON) return true;
  }
  return false;
}

/** @param at anywhere inside of a string, but not behind a backslash @returns the place behind its end */
function endOfString(text: string, at: number): number {
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at++;
  }
  return at;
}

function skipSpace(text: string, at: number): number {
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++;
  return at;
}

type Container = { readonly list: unknown[] } | { readonly object: object; name: string | undefined };

/** The value of a text that is JSON; without recursion, as it may be nested to any depth. */
export function* reading(
  text: string,
  literal: (text: string) => unknown = (part) => JSON.parse(part) as unknown,
): JsonWalk<unknown> {
  const open: Container[] = [];
  let root: unknown;
  let at = 0;
  const put = (value: unknown): void => {
    const inner = open.at(-1);
    if (!inner) root = value;
    else if ('list' in inner) inner.list.push(value);
    else {
      setMember(inner.object, inner.name ?? '', value);
      inner.name = undefined;
    }
  };
  const begin = (container: Container, value: unknown): void => {
    put(value);
    open.push(container);
    at++;
  };
  let pausedAt = 0;
  for (at = skipSpace(text, at); at < text.length; at = skipSpace(text, at)) {
    if (at - pausedAt > STRETCH) {
      yield undefined;
      pausedAt = at;
    }
    switch (text.charCodeAt(at)) {
      case OPEN_OBJECT: {
        const object = {};
        begin({ object, name: undefined }, object);
        break;
      }
      case OPEN_ARRAY: {
        const list: unknown[] = [];
        begin({ list }, list);
        break;
      }
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        open.pop();
        at++;
        break;
      case COMMA:
      case COLON:
        at++;
        break;
      case QUOTE: {
        const short = endOfShortString(text, at);
        const end = short >= 0 ? short : yield* endOfAnyString(text, at);
        const value = end - at <= STRETCH ? stringAt(text, at, end) : yield* longStringAt(text, at, end);
        at = end;
        const inner = open.at(-1);
        if (inner && 'object' in inner && inner.name === undefined) inner.name = value;
        else put(value);
        break;
      }
      default: {
        const end = endOfLiteral(text, at);
        put(literal(text.slice(at, end)));
        at = end;
      }
    }
  }
  return root;
}

/** A string that is a whole text has no name before it that it could be taken for. A part of the text would keep all of it. */
function stringAt(text: string, start: number, end: number): string {
  return String(JSON.parse(text.slice(start, end)));
}

/** Letters of `\u0000`. */
const LONGEST_ESCAPE = 6;

/** The same piece by piece, none of which ends within an escape. */
function* longStringAt(text: string, start: number, end: number): JsonWalk<string> {
  const pieces: string[] = [];
  for (let at = start + 1; at < end - 1;) {
    const to = endOfPiece(text, at, Math.min(at + STRETCH, end - 1));
    pieces.push(String(JSON.parse(`"${text.slice(at, to)}"`)));
    at = to;
    yield undefined;
  }
  return pieces.join('');
}

/** The first place from `to` on that is not within an escape; at `from` none is open. */
function endOfPiece(text: string, from: number, to: number): number {
  for (let at = Math.max(from, to - LONGEST_ESCAPE); at < to; at++) {
    if (text.charCodeAt(at) !== BACKSLASH || isEscaped(text, from, at)) continue;
    const end = at + (text.charCodeAt(at + 1) === LETTER_U ? LONGEST_ESCAPE : 2);
    if (end > to) return end;
    at = end - 1;
  }
  return to;
}

/** True when the backslash at `at` is the second of an escape. */
function isEscaped(text: string, from: number, at: number): boolean {
  let before = at;
  while (before > from && text.charCodeAt(before - 1) === BACKSLASH) before--;
  return (at - before) % 2 === 1;
}

const LETTER_U = 0x75;

/** End of a number, `true`, `false` or `null`. */
function endOfLiteral(text: string, at: number): number {
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === CLOSE_OBJECT || code === CLOSE_ARRAY || code <= 0x20) return at;
  }
  return at;
}

/** `__proto__` as a name of JSON is data like any other. */
function setMember(object: object, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  else (object as Record<string, unknown>)[name] = value;
}
