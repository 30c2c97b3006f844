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

/** Number of names from which an object's names are looked up instead of compared. */
const LOOKED_UP_FROM = 24;

/** Something in a JSON text that two readers may understand differently. */
export interface JsonTrouble {
  readonly kind: 'depth' | 'count' | 'members' | 'duplicate' | 'nul' | 'surrogate' | 'prototype';
  /** True when it is about the name of a member; else about a string. */
  readonly isName: boolean;
  /** Path from the outermost value; the last part is the member or item itself. */
  readonly path: readonly (string | number)[];
}

export interface JsonRules {
  /** Levels of lists and objects; no limit by default. */
  readonly maxDepth?: number;
  /**
   * Items and members of all lists and objects together; no limit by default. Each takes up to seventy bytes once it is
   * parsed, and two or three in the text.
   */
  readonly maxValues?: number;
  /**
   * Members of all objects together; no limit by default. Libraries that walk through a value to copy or print it take some
   * ten times as long for a member as for an item.
   */
  readonly maxMembers?: number;
  /** Called with how many there are, of a text without trouble. */
  readonly onValues?: (values: number) => void;
  /**
   * Members in which anything is allowed but depth and too many values or members, by the names that lead to them from the outermost object, as in
   * `params.input`. Lists on the way are not named.
   */
  readonly payload?: ReadonlySet<string>;
  /** Characters that strings may hold; names never may. Neither by default. */
  readonly allowInStrings?: readonly ('nul' | 'surrogate')[];
  /** True to look for members of the same name alone. */
  readonly duplicatesOnly?: boolean;
}

/**
 * Looks for parts that parsers silently drop, replace or choose from: a name that comes twice, NUL
 * characters, halves of surrogate pairs, and `__proto__`, which copies of an object lose. Such a value reads
 * as one thing when it is checked and as another when it is stored. One pass over the text; text that is not
 * JSON is left to the parser.
 */
export function findJsonTrouble(json: string, rules: JsonRules = {}): JsonTrouble | undefined {
  return atOnce(findingJsonTrouble(json, rules));
}

/** The same as {@link findJsonTrouble}, yielding to other work in between. */
export function* findingJsonTrouble(json: string, rules: JsonRules = {}): JsonWalk<JsonTrouble | undefined> {
  const scan = new Scan(json, rules);
  const trouble = yield* scan.find();
  if (!trouble) rules.onValues?.(scan.values);
  return trouble;
}

/** The paths of payloads, made ready for the look. */
interface Payloads {
  /** The names that lead to them, put together by what no name can hold. */
  readonly paths: ReadonlySet<string>;
  /** The last of them: no other member needs a closer look. */
  readonly lastNames: ReadonlySet<string>;
}

const NO_PAYLOADS: Payloads = { paths: new Set(), lastNames: new Set() };

/** Rules are few and texts are many: splitting the paths takes longer than the look at a small text. */
const payloadsOf = new WeakMap<ReadonlySet<string>, Payloads>();

function readyPayloads(given: ReadonlySet<string> | undefined): Payloads {
  if (!given) return NO_PAYLOADS;
  let ready = payloadsOf.get(given);
  if (!ready) {
    const paths = [...given].map((path) => path.split('.'));
    ready = {
      paths: new Set(paths.map((names) => names.join('\0'))),
      lastNames: new Set(paths.map((names) => names.at(-1) ?? '')),
    };
    payloadsOf.set(given, ready);
  }
  return ready;
}

/** One open list or object. */
interface Level {
  readonly isObject: boolean;
  readonly names: Names;
  /** The member or item that is being read. */
  at: string | number;
  isNameNext: boolean;
}

class Scan {
  readonly #levels: Level[] = [];
  readonly #hasNul: boolean;
  readonly #hasSurrogate: boolean;
  readonly #maxDepth: number;
  readonly #maxValues: number;
  readonly #maxMembers: number;
  #values = 0;
  #members = 0;
  readonly #payloads: Payloads;

  constructor(
    private readonly json: string,
    private readonly rules: JsonRules,
  ) {
    const allowed = rules.allowInStrings ?? [];
    this.#hasNul = !rules.duplicatesOnly && !allowed.includes('nul') && json.includes('\\u0000');
    this.#hasSurrogate = !rules.duplicatesOnly && !allowed.includes('surrogate') && /\\u[dD]/.test(json);
    this.#maxDepth = rules.maxDepth ?? Infinity;
    this.#maxValues = rules.maxValues ?? Infinity;
    this.#maxMembers = rules.maxMembers ?? Infinity;
    this.#payloads = readyPayloads(rules.payload);
  }

  get values(): number {
    return this.#values;
  }

  *find(): JsonWalk<JsonTrouble | undefined> {
    const { json } = this;
    let pausedAt = 0;
    for (let at = 0; at < json.length; at++) {
      if (at - pausedAt > STRETCH) {
        yield undefined;
        pausedAt = at;
      }
      switch (json.charCodeAt(at)) {
        case QUOTE: {
          const short = endOfShortString(json, at);
          const end = (short >= 0 ? short : yield* endOfAnyString(json, at)) - 1;
          const trouble = this.#string(at, end);
          if (trouble) return trouble;
          at = end;
          break;
        }
        case OPEN_ARRAY:
        case OPEN_OBJECT:
          if (this.#isStrict()) this.#open(json.charCodeAt(at) === OPEN_OBJECT);
          else at = yield* this.#skip(at);
          if (at < 0 || this.#levels.length > this.#maxDepth) return this.#trouble('depth');
          break;
        case CLOSE_ARRAY:
        case CLOSE_OBJECT:
          this.#levels.pop();
          if (!isEmptyAt(json, at)) this.#values++;
          break;
        case COMMA:
          this.#values++;
          this.#next();
          break;
        case COLON:
          this.#members++;
          this.#named();
          break;
        default: // nothing that matters
      }
      if (this.#values > this.#maxValues) return { kind: 'count', isName: false, path: [] };
      if (this.#members > this.#maxMembers) return { kind: 'members', isName: false, path: [] };
    }
    return undefined;
  }

  #open(isObject: boolean): void {
    this.#levels.push({ isObject, names: new Names(), at: isObject ? '' : 0, isNameNext: isObject });
  }

  /** @returns the end of the list or object that begins at `start`; -1 when it is nested too deep */
  *#skip(start: number): JsonWalk<number> {
    const { json } = this;
    const room = this.#maxDepth - this.#levels.length;
    let depth = 0;
    let pausedAt = start;
    for (let at = start; at < json.length; at++) {
      if (at - pausedAt > STRETCH) {
        yield undefined;
        pausedAt = at;
      }
      switch (json.charCodeAt(at)) {
        case QUOTE: {
          const short = endOfShortString(json, at);
          at = (short >= 0 ? short : yield* endOfAnyString(json, at)) - 1;
          break;
        }
        case OPEN_ARRAY:
        case OPEN_OBJECT:
          if (++depth > room) return -1;
          break;
        case CLOSE_ARRAY:
        case CLOSE_OBJECT:
          if (!isEmptyAt(json, at)) this.#values++;
          if (--depth === 0) return at;
          break;
        case COMMA:
          if (++this.#values > this.#maxValues) return at;
          break;
        case COLON:
          if (++this.#members > this.#maxMembers) return at;
          break;
        default: // nothing that nests
      }
    }
    return json.length;
  }

  #next(): void {
    const level = this.#levels.at(-1);
    if (!level) return;
    if (level.isObject) level.isNameNext = true;
    else if (typeof level.at === 'number') level.at++;
  }

  #named(): void {
    const level = this.#levels.at(-1);
    if (level) level.isNameNext = false;
  }

  /** True when the value that begins here is checked. */
  #isStrict(): boolean {
    const level = this.#levels.at(-1);
    if (!level) return true;
    if (typeof level.at !== 'string' || !this.#payloads.lastNames.has(level.at)) return true;
    const names = this.#levels.map(({ at }) => at).filter((at) => typeof at === 'string');
    return !this.#payloads.paths.has(names.join('\0'));
  }

  #string(start: number, end: number): JsonTrouble | undefined {
    const level = this.#levels.at(-1);
    if (level?.isNameNext) return this.#name(level, start, end);
    if (!this.#hasNul && !this.#hasSurrogate) return undefined;
    if (!this.#isStrict()) return undefined;
    const text = decode(this.json, start, end);
    if (this.#hasNul && text.includes('\0')) return this.#trouble('nul');
    if (this.#hasSurrogate && !text.isWellFormed()) return this.#trouble('surrogate');
    return undefined;
  }

  #name(level: Level, start: number, end: number): JsonTrouble | undefined {
    const { names } = level;
    const name = decode(this.json, start, end);
    level.at = name;
    if (names.has(name)) return this.#trouble('duplicate', true);
    names.add(name);
    if (this.rules.duplicatesOnly) return undefined;
    if (name === '__proto__') return this.#trouble('prototype', true);
    if (name.includes('\0')) return this.#trouble('nul', true);
    return name.isWellFormed() ? undefined : this.#trouble('surrogate', true);
  }

  #trouble(kind: JsonTrouble['kind'], isName = false): JsonTrouble {
    const levels = kind === 'depth' ? this.#levels.slice(0, this.#maxDepth) : this.#levels;
    return { kind, isName, path: levels.map(({ at }) => at) };
  }
}

/**
 * True when the list or object that ends here holds nothing; one that does has a value more than it has
 * commas.
 */
function isEmptyAt(json: string, end: number): boolean {
  let at = end - 1;
  while (isBlank(json.charCodeAt(at))) at--;
  const before = json.charCodeAt(at);
  return before === OPEN_ARRAY || before === OPEN_OBJECT;
}

function isBlank(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

/** The names of one object so far. */
class Names {
  #few: string[] = [];
  #many: Set<string> | undefined;

  has(name: string): boolean {
    return this.#many ? this.#many.has(name) : this.#few.includes(name);
  }

  add(name: string): void {
    if (this.#many) this.#many.add(name);
    else if (this.#few.push(name) >= LOOKED_UP_FROM) this.#many = new Set(this.#few);
  }
}

/** The text of a string from quote to quote; as it is written when its escapes are invalid. */
function decode(json: string, start: number, end: number): string {
  const raw = json.slice(start + 1, end);
  if (!raw.includes('\\')) return raw;
  try {
    return String(JSON.parse(json.slice(start, end + 1)));
  } catch {
    return raw;
  }
}

/** Position of the quote that ends the string which begins at `start`; the end of the text when the string does not end. */
export function endOfString(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return json.length;
}
