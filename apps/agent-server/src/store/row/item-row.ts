import { PublicError } from '#lib/errors';
import { isJsonObject } from '#lib/json';
import { jsonbText } from '../json-text.js';
import { visible } from '../scope.js';

/** A vector of a row in Postgres' binary form: five numbers that describe the array, then the length of each number before it. */
const HEADER_BYTES = 20;
const NUMBER_BYTES = 8;

/** Embedding of a field of an item. */
export interface ItemVector {
  readonly itemId: string;
  /** The product with another vector of as many numbers. */
  product(other: Float32Array): number;
}

export interface ItemVectorRow {
  readonly item_id: string;
  /** Base64. */
  readonly sent: string;
}

/**
 * A vector `v.vector` as it is transferred: the driver makes text of every value, also of binary ones, and
 * reading numbers from the text of an array takes ten times as long.
 */
export const SENT_VECTOR = `encode(array_send(v.vector), 'base64') AS sent`;

export function itemVector({ item_id, sent }: ItemVectorRow): ItemVector {
  return {
    itemId: item_id,
    product(other) {
      const vector = Buffer.from(sent, 'base64');
      const view = new DataView(vector.buffer, vector.byteOffset, vector.byteLength);
      let sum = 0;
      let at = HEADER_BYTES + 4;
      for (const number of other) {
        sum += number * view.getFloat32(at);
        at += NUMBER_BYTES;
      }
      return sum;
    },
  };
}

/** Bytes of a vector as it is transferred. */
export function vectorBytes(dims: number): number {
  return HEADER_BYTES + dims * NUMBER_BYTES;
}

/** The first text after all that begin with a label and are not the label itself, in the order of bytes. */
const NEXT = '\u0001';

/**
 * SQL: true when an item `i` is under a prefix, as a range of the primary key.
 * @param bind takes a value of the statement and answers its position
 */
function underPrefix(prefix: readonly string[], bind: (value: unknown) => string): string {
  const last = prefix.at(-1);
  if (last === undefined) return 'true';
  const end = [...prefix.slice(0, -1), last + NEXT];
  return `i.namespace >= ${bind(prefix)}::text[] AND i.namespace < ${bind(end)}::text[]`;
}

/** Limit of conditions, above all practical filters; each reads the value of every item. */
const MAX_CONDITIONS = 100;

/** Characters of all names and values together, which go to the database with each search: 20,000 ids of a `$in`. */
const MAX_CHARS = 1024 * 1024;

/** Characters of a name that are quoted in a refusal. */
const QUOTED = 100;

const COMPARISONS: Readonly<Record<string, string>> = { $gt: '>', $gte: '>=', $lt: '<', $lte: '<=' };
const OPERATORS = ['$eq', '$ne', ...Object.keys(COMPARISONS), '$in', '$nin'];

const NUMBER = '^\\s*[-+]?(\\d+\\.?\\d*|\\.\\d+)([eE][-+]?\\d{1,3})?\\s*$';

/** Limit of the characters of a number; Postgres has none of more than 131,072 digits. */
const MAX_NUMBER_LENGTH = 1_000;

function isNumber(text: string): boolean {
  return text.length <= MAX_NUMBER_LENGTH && new RegExp(NUMBER).test(text);
}

function refuse(path: readonly string[], message: string): PublicError {
  return new PublicError('invalid', `filter: ${message}`, [
    {
      loc: ['body', 'filter', ...path.map((name) => name.slice(0, QUOTED))],
      msg: message,
      type: 'value_error',
    },
  ]);
}

/**
 * Makes SQL of a filter, as LangGraph's stores read one: a plain value must be equal, an object must be part
 * of the stored one, a list must have the same length, and keys with `$` compare. The text of the statement
 * is made of fixed pieces; names and values are its parameters. A name that is missing counts as null.
 */
class FilterConditions {
  readonly #conditions: string[] = [];
  readonly #bind: (value: unknown) => string;
  #chars = 0;

  constructor(bind: (value: unknown) => string) {
    this.#bind = bind;
  }

  /** Names of a path, and texts, are counted. */
  #bound(path: readonly string[], value: unknown): string {
    const texts = [...path, ...(typeof value === 'string' ? [value] : [])];
    this.#chars = texts.reduce((chars, text) => chars + text.length, this.#chars);
    if (this.#chars > MAX_CHARS)
      throw refuse([path[0] ?? ''], `must not hold more than ${MAX_CHARS} characters; name fewer values`);
    return this.#bind(value);
  }

  text(filter: unknown): string {
    if (!isJsonObject(filter)) throw refuse([], 'must be an object');
    for (const [name, wanted] of Object.entries(filter)) this.#match([name], wanted);
    return this.#conditions.length === 0 ? 'true' : this.#conditions.join(' AND ');
  }

  #add(path: readonly string[], condition: string): void {
    this.#conditions.push(condition);
    if (this.#conditions.length > MAX_CONDITIONS)
      throw refuse([path[0] ?? ''], `must not hold more than ${MAX_CONDITIONS} conditions`);
  }

  #valueAt(path: readonly string[]): string {
    return `coalesce(i.value #> ${this.#bound(path, path)}::text[], 'null')`;
  }

  #match(path: readonly string[], wanted: unknown): void {
    if (Array.isArray(wanted)) this.#matchList(path, wanted);
    else if (!isJsonObject(wanted)) this.#add(path, this.#equal(path, wanted));
    else if (Object.keys(wanted).some((name) => name.startsWith('$'))) this.#compare(path, wanted);
    else {
      this.#add(path, `jsonb_typeof(${this.#valueAt(path)}) = 'object'`);
      for (const [name, inner] of Object.entries(wanted)) this.#match([...path, name], inner);
    }
  }

  #matchList(path: readonly string[], wanted: readonly unknown[]): void {
    const at = this.#valueAt(path);
    const length = `jsonb_array_length(${at}) = ${this.#bound(path, wanted.length)}::int`;
    this.#add(path, `CASE jsonb_typeof(${at}) WHEN 'array' THEN ${length} ELSE false END`);
    wanted.forEach((inner, index) => this.#match([...path, String(index)], inner));
  }

  #equal(path: readonly string[], wanted: unknown): string {
    return `${this.#valueAt(path)} = ${this.#bound(path, jsonbText(wanted))}::jsonb`;
  }

  #compare(path: readonly string[], operators: object): void {
    for (const [operator, operand] of Object.entries(operators))
      this.#add(path, this.#operation(path, operator, operand));
  }

  #operation(path: readonly string[], operator: string, operand: unknown): string {
    switch (operator) {
      case '$eq':
        return this.#equal(path, operand);
      case '$ne':
        return `NOT (${this.#equal(path, operand)})`;
      case '$in':
      case '$nin': {
        if (!Array.isArray(operand)) throw refuse(path, `${operator} must be a list`);
        const among = `${this.#valueAt(path)} IN (SELECT jsonb_array_elements(${this.#bound(path, jsonbText(operand))}::jsonb))`;
        return operator === '$in' ? among : `NOT (${among})`;
      }
      default:
        return this.#ordered(path, operator, operand);
    }
  }

  /** Numbers by their size, whether they are written as numbers or as text; other texts by their bytes. */
  #ordered(path: readonly string[], operator: string, operand: unknown): string {
    const sign = Object.hasOwn(COMPARISONS, operator) ? COMPARISONS[operator] : undefined;
    if (sign === undefined)
      throw refuse(path, `${operator.slice(0, QUOTED)} is not an operator; use ${OPERATORS.join(', ')}`);
    if (typeof operand !== 'number' && typeof operand !== 'string')
      throw refuse(path, `${operator} must be a number or a text`);
    const at = `i.value #>> ${this.#bound(path, path)}::text[]`;
    if (typeof operand === 'string' && !isNumber(operand))
      return `coalesce((${at}) COLLATE "C" ${sign} ${this.#bound(path, operand)}::text, false)`;
    const size = `CASE WHEN length(${at}) <= ${MAX_NUMBER_LENGTH} AND ${at} ~ ${this.#bound(path, NUMBER)} THEN (${at})::numeric END`;
    return `coalesce(${size} ${sign} ${this.#bound(path, String(operand))}::numeric, false)`;
  }
}

/**
 * The condition of a filter on an item `i`.
 * @param bind takes a value of the statement and answers its position
 * @throws PublicError `invalid` for an invalid filter
 */
function itemFilter(filter: unknown, bind: (value: unknown) => string): string {
  return new FilterConditions(bind).text(filter);
}

/** One document of the store. */
export interface StoredItem {
  readonly namespace: string[];
  readonly key: string;
  /** JSON text: requests pass it on, and graphs parse it in their own process. */
  readonly value: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** An item with the id of its row. */
export interface FoundItem {
  readonly itemId: string;
  readonly item: StoredItem;
}

/** Namespace and key of an item. */
export interface ItemPlace {
  readonly namespace: readonly string[];
  readonly key: string;
}

export interface ItemRow {
  readonly item_id: string;
  readonly namespace: string[];
  readonly key: string;
  readonly value: string;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** Columns of an item `i`. */
export const ITEM_COLUMNS =
  'i.item_id, i.namespace, i.key, i.value::text AS value, i.created_at, i.updated_at';

export function storedItem({ namespace, key, value, ...row }: ItemRow): StoredItem {
  return { namespace, key, value, createdAt: row.created_at, updatedAt: row.updated_at };
}

/** Document that filters of callers are matched with: the fields of the value, with the place of the item. */
export function itemDocument(namespace: string, key: string, value: string): string {
  return `(${value} || jsonb_build_object('namespace', to_jsonb(${namespace}), 'key', ${key}))`;
}

/** The document of an item `i`. */
export const ITEM_DOCUMENT = itemDocument('i.namespace', 'i.key', 'i.value');

/** SQL: an expired item does not exist any more, whenever its row is removed. */
export const ITEM_IS_LIVE = '(i.expires_at IS NULL OR i.expires_at > clock_timestamp())';

/** Expiry of an item that is written or read now. */
export function expiryIn(minutes: string): string {
  return `clock_timestamp() + ${minutes} * interval '1 minute'`;
}

/** Search for items. */
export interface ItemSearch {
  readonly prefix: readonly string[];
  /** Filter as LangGraph's stores read it; undefined for none. */
  readonly filter: unknown;
}

/** Collected values of a statement; `bind` answers the position of each, from `$2` on. */
export class Values {
  readonly list: unknown[] = [];
  readonly bind = (value: unknown): string => {
    this.list.push(value);
    return `$${this.list.length + 1}`;
  };
}

/**
 * The conditions of a search on an item `i`, the scope's first.
 * @throws PublicError `invalid` for an invalid filter
 */
export function itemConditions({ prefix, filter }: ItemSearch, { bind }: Values): string {
  const conditions = [visible(ITEM_DOCUMENT), ITEM_IS_LIVE, underPrefix(prefix, bind)];
  if (filter !== undefined) conditions.push(itemFilter(filter, bind));
  return conditions.join(' AND ');
}
