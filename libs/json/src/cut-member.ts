import { CLOSE_ARRAY, CLOSE_OBJECT, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-codes.js';
import { endOfString } from './json-trouble.js';

/** A JSON text without one of its members. */
export interface CutJson {
  readonly rest: string;
  /** The text of the member's value; undefined when there is no such member. */
  readonly cut: string | undefined;
}

interface Member {
  readonly start: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  /** Of the comma before it; -1 for the first. */
  readonly commaBefore: number;
}

/**
 * Takes a member out of the text of a JSON object without parsing it: values that are parsed may take twenty times the
 * length of their text.
 * @param json what a serialiser wrote; anything may come of what is no JSON
 * @param path names that lead to the member through objects
 */
export function cutMember(json: string, path: readonly string[]): CutJson {
  const member = path.reduce<Member | undefined>(
    (found, name) => found && findMember(json, found.valueStart, name),
    { start: 0, valueStart: skipBlank(json, 0), valueEnd: json.length, commaBefore: -1 },
  );
  if (!member || path.length === 0) return { rest: json, cut: undefined };
  const { start, valueStart, valueEnd, commaBefore } = member;
  const next = skipBlank(json, valueEnd);
  const from = commaBefore >= 0 ? commaBefore : start;
  const to = commaBefore < 0 && json[next] === ',' ? next + 1 : valueEnd;
  return { rest: json.slice(0, from) + json.slice(to), cut: json.slice(valueStart, valueEnd).trimEnd() };
}

function findMember(json: string, objectStart: number, name: string): Member | undefined {
  if (json[objectStart] !== '{') return undefined;
  let commaBefore = -1;
  for (let start = skipBlank(json, objectStart + 1); json[start] === '"';) {
    const nameEnd = endOfString(json, start);
    const valueStart = skipBlank(json, skipBlank(json, nameEnd + 1) + 1);
    const valueEnd = endOfValue(json, valueStart);
    if (JSON.parse(json.slice(start, nameEnd + 1)) === name)
      return { start, valueStart, valueEnd, commaBefore };
    commaBefore = skipBlank(json, valueEnd);
    start = skipBlank(json, commaBefore + 1);
  }
  return undefined;
}

function skipBlank(json: string, from: number): number {
  let at = from;
  while (/\s/.test(json[at] ?? '')) at++;
  return at;
}

/** Behind the value that begins at `start`. */
function endOfValue(json: string, start: number): number {
  if (json.charCodeAt(start) === QUOTE) return endOfString(json, start) + 1;
  let depth = 0;
  for (let at = start; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(json, at);
        break;
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
  }
  return json.length;
}
