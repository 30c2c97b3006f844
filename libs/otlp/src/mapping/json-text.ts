import {
  type ByteRange,
  eachMember,
  expectEnd,
  isTextDeeperThan,
  JsonSyntaxError,
  type JsonWalk,
  validatingJson,
} from '#lib/json';
import type { AttributeValue } from '../span.js';

/** A JSON text, to be written as it is. */
export interface JsonText {
  readonly kind: 'object' | 'array' | 'scalar';
  readonly text: string;
}

/** A member of an object, JSON already. */
export type JsonMember = readonly [name: string, json: string];

/** Payloads are stored one level deep in their run. */
const MAX_DEPTH = 100;
/** Characters of a text for which the engine's own parser is faster than a walk, and of such texts between two pauses. */
const SHORT = 16_384;
const SHORT_AT_ONCE = 65_536;
/** Members of an object that are taken apart; each takes a hundred times its bytes. */
const MAX_MEMBERS = 5_000;

/** Characters of short texts since the last pause, of whichever span: each is short, and a span may have thousands. */
let sincePause = 0;

function* pauseAfter(text: string): JsonWalk<void> {
  sincePause += text.length;
  if (sincePause < SHORT_AT_ONCE) return;
  sincePause = 0;
  yield undefined;
}

function parses(text: string): boolean {
  try {
    // only whether it is JSON
    // eslint-disable-next-line no-restricted-syntax
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Result of `walk`; undefined when it finds that its text is not JSON. */
function* unlessInvalid<T>(walk: JsonWalk<T>): JsonWalk<T | undefined> {
  try {
    return yield* walk;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

function* validated(text: string): JsonWalk<true> {
  yield* validatingJson(Buffer.from(text), MAX_DEPTH);
  return true;
}

const OBJECT = /^[ \n\r\t]{0,100}\{/;
const LIST = /^[ \n\r\t]{0,100}\[/;
const SCALAR = /^[ \n\r\t]{0,100}["\dtfn-]/;

/** A text that is a JSON object or list, as it was sent: printed again, numbers and the order of names would change. */
export function* asJson(text: string): JsonWalk<JsonText | undefined> {
  const kind = OBJECT.test(text) ? 'object' : LIST.test(text) ? 'array' : undefined;
  if (kind === undefined) return undefined;
  if (text.length > SHORT) return (yield* unlessInvalid(validated(text))) && { kind, text };
  yield* pauseAfter(text);
  return !isTextDeeperThan(text, MAX_DEPTH) && parses(text) ? { kind, text } : undefined;
}

/** A text that is JSON of another text, of a number, true, false or null, as it was sent. */
export function* jsonScalar(text: string): JsonWalk<string | undefined> {
  if (!SCALAR.test(text)) return undefined;
  if (text.length > SHORT) return (yield* unlessInvalid(validated(text))) && text;
  yield* pauseAfter(text);
  return parses(text) ? text : undefined;
}

/**
 * The members of a text that is a JSON object, each as it was sent.
 * @returns the whole when it has too many of them; undefined for any other text
 */
export function* jsonMembers(text: string): JsonWalk<readonly JsonMember[] | JsonText | undefined> {
  if (!OBJECT.test(text)) return undefined;
  if (text.length <= SHORT) yield* pauseAfter(text);
  return yield* unlessInvalid(takenApart(text));
}

function* takenApart(text: string): JsonWalk<readonly JsonMember[] | JsonText> {
  const bytes = Buffer.from(text);
  const members: JsonMember[] = [];
  let count = 0;
  const visit = (name: string, { start, end }: ByteRange): void => {
    if (++count <= MAX_MEMBERS) members.push([name, bytes.toString('utf8', start, end)]);
  };
  const end = yield* eachMember(bytes, 0, visit, { levels: MAX_DEPTH });
  expectEnd(bytes, end);
  return count > MAX_MEMBERS ? { kind: 'object', text } : members;
}

/** The JSON of a value; texts that are JSON objects or lists are taken for these. */
export function* jsonOf(value: AttributeValue): JsonWalk<JsonText> {
  if (typeof value === 'string')
    return (yield* asJson(value)) ?? { kind: 'scalar', text: JSON.stringify(value) };
  if (Array.isArray(value)) return { kind: 'array', text: JSON.stringify(value) };
  const kind = typeof value === 'object' && value !== null ? 'object' : 'scalar';
  return { kind, text: JSON.stringify(value) };
}

/** An object of members that are JSON already. */
export function jsonObject(members: Iterable<JsonMember>): string {
  return `{${[...members].map(([name, json]) => `${JSON.stringify(name)}:${json}`).join()}}`;
}

/** Payloads are objects: anything else is a member of one. */
export function* jsonPayload(value: AttributeValue, name: 'input' | 'output'): JsonWalk<string> {
  const { kind, text } = yield* jsonOf(value);
  return kind === 'object' ? text : jsonObject([[name, text]]);
}
