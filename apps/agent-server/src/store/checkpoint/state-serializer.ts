import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} from '@langchain/core/messages';
import { DeltaSnapshot, isDeltaSnapshot, type SerializerProtocol } from '@langchain/langgraph-checkpoint';
import { parseJson } from '#lib/json';

type Fields = Record<string, unknown>;

/**
 * The only classes of LangChain that stored state is turned into: they hold data and do nothing when they are
 * built. A class outside this list would let the writer of the state choose which code runs with what
 * arguments.
 */
const CLASSES: ReadonlyMap<string, new (fields: never) => object> = new Map<
  string,
  new (fields: never) => object
>([
  ['AIMessage', AIMessage],
  ['AIMessageChunk', AIMessageChunk],
  ['ChatMessage', ChatMessage],
  ['ChatMessageChunk', ChatMessageChunk],
  ['FunctionMessage', FunctionMessage],
  ['FunctionMessageChunk', FunctionMessageChunk],
  ['HumanMessage', HumanMessage],
  ['HumanMessageChunk', HumanMessageChunk],
  ['RemoveMessage', RemoveMessage],
  ['SystemMessage', SystemMessage],
  ['SystemMessageChunk', SystemMessageChunk],
  ['ToolMessage', ToolMessage],
  ['ToolMessageChunk', ToolMessageChunk],
]);

const NAMESPACE = 'langchain_core/messages';

/** A message as data: the name of its class and the arguments of its constructor. */
export interface MessageParts {
  readonly name: string;
  readonly fields: Fields;
}

/** Returns true when `namespace` and `name` are those of a message class that state may be turned into. */
function isMessageClass(namespace: string, name: string): boolean {
  return namespace === NAMESPACE && CLASSES.has(name);
}

/**
 * Takes a message apart. The agent's folder brings its own copy of LangChain, so classes are recognized by
 * their names, and one that extends a message class counts as the class that it extends.
 * @returns undefined for everything that is not a message, JSON that imitates one included
 */
function messageParts(value: object): MessageParts | undefined {
  const { lc_namespace: namespace, lc_kwargs: given } = value as {
    readonly lc_namespace?: unknown;
    readonly lc_kwargs?: unknown;
  };
  if (!Array.isArray(namespace) || namespace.join('/') !== NAMESPACE) return undefined;
  const name = classNameOf(value);
  if (name === undefined || given === null || typeof given !== 'object') return undefined;
  const own = value as Fields;
  // fields that were assigned after the message was built count, as in LangChain's own text of it
  const fields = Object.fromEntries(
    Object.entries(given).map(([key, before]) => [key, key in own ? own[key] : before]),
  );
  return { name, fields };
}

/** Builds the message again; undefined when the fields are not such that its constructor takes them. */
function buildMessage({ name, fields }: MessageParts): object | undefined {
  const MessageClass = CLASSES.get(name);
  if (!MessageClass) return undefined;
  try {
    return new MessageClass(fields as never);
  } catch {
    return undefined;
  }
}

/** The nearest class of the list; parsed JSON has none, since JSON holds no functions. */
function classNameOf(value: object): string | undefined {
  for (
    let prototype: unknown = Object.getPrototypeOf(value);
    typeof prototype === 'object' && prototype !== null;
    prototype = Object.getPrototypeOf(prototype)
  ) {
    const name = nameOfClass((prototype as { readonly constructor?: unknown }).constructor);
    if (name !== undefined && CLASSES.has(name)) return name;
  }
  return undefined;
}

/**
 * Name that LangChain gives a class: `lc_name` when the class has one that its parent has not, else its own
 * name.
 */
function nameOfClass(constructor: unknown): string | undefined {
  const own = lcName(constructor);
  if (own === undefined) return undefined;
  return own === lcName(Object.getPrototypeOf(constructor)) ? (constructor as { name: string }).name : own;
}

function lcName(constructor: unknown): string | undefined {
  if (typeof constructor !== 'function') return undefined;
  const { lc_name: name } = constructor as { readonly lc_name?: unknown };
  if (typeof name !== 'function') return undefined;
  const text: unknown = name.call(constructor);
  return typeof text === 'string' ? text : undefined;
}

/** The pairs of a stored list of entries; other items are left out. */
function pairs(value: unknown): [unknown, unknown][] {
  if (!Array.isArray(value)) return [];
  return value.filter((pair): pair is [unknown, unknown] => Array.isArray(pair) && pair.length === 2);
}

/**
 * Key of the objects that represent values without JSON. Values of an agent or a caller cannot imitate one: a
 * plain object with this key is written as its entries.
 */
export const TAG = '$ap';

type Replacer = (this: unknown, key: string, value: unknown) => unknown;

/** JSON representation of `raw`, or of `value`, which is `raw` after its own `toJSON`. */
function represent(raw: unknown, value: unknown): unknown {
  if (raw === undefined) return { [TAG]: 'undefined' };
  if (typeof raw === 'bigint') return { [TAG]: 'bigint', value: raw.toString() };
  if (typeof raw === 'number' && !Number.isFinite(raw)) return { [TAG]: 'number', value: String(raw) };
  if (typeof raw === 'object' && raw !== null) return representObject(raw) ?? plain(value);
  return plain(value);
}

function representObject(raw: object): unknown {
  if (Array.isArray(raw)) return raw;
  if (raw instanceof Uint8Array)
    return {
      [TAG]: 'bytes',
      base64: Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('base64'),
    };
  if (raw instanceof Map) return { [TAG]: 'map', entries: [...raw] };
  if (raw instanceof Set) return { [TAG]: 'set', values: [...raw] };
  if (raw instanceof RegExp) return { [TAG]: 'regexp', source: raw.source, flags: raw.flags };
  if (raw instanceof Error) return { [TAG]: 'error', message: raw.message };
  if (isDeltaSnapshot(raw) && !isPlain(raw)) return { [TAG]: 'delta', value: raw.value };
  const message = isPlain(raw) ? undefined : messageParts(raw);
  return message && { [TAG]: 'message', name: message.name, fields: Object.entries(message.fields) };
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function plain(value: unknown): unknown {
  const isTagged = typeof value === 'object' && value !== null && Object.hasOwn(value, TAG);
  return isTagged ? { [TAG]: 'object', entries: Object.entries(value) } : value;
}

const replacer: Replacer = function (key, value) {
  return represent((this as Record<string, unknown>)[key], value);
};

/** Cuts objects that contain themselves at the repetition, as LangGraph's own serialiser does. */
function cuttingReplacer(): Replacer {
  const above: unknown[] = [];
  return function (key, value) {
    while (above.length > 0 && above.at(-1) !== this) above.pop();
    if (typeof value === 'object' && value !== null && above.includes((this as Record<string, unknown>)[key]))
      return '[Circular]';
    const raw = (this as Record<string, unknown>)[key];
    const represented = represent(raw, value);
    if (typeof represented === 'object' && represented !== null) {
      if (represented !== raw) above.push(raw);
      above.push(represented);
    }
    return represented;
  };
}

/**
 * JSON of any value of a graph's state; equal values of JSON come back equal, whatever keys they have.
 * @returns undefined for a value without any text: a function or a symbol by itself
 */
function encodeState(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, replacer);
  } catch (error) {
    // the only TypeError of JSON.stringify with these representations is a cycle
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, cuttingReplacer());
  }
}

type Json = Readonly<Record<string, unknown>>;

const ESCAPED = '__lc_escaped__';

/**
 * Reads a value that LangGraph's own serialiser wrote, without the unsafe parts of that format: of `lc: 1`
 * objects only messages are made again, of `lc: 2` objects only JavaScript's own classes, and every other one
 * stays JSON. A stored object that names an unknown class therefore no longer makes its thread unreadable.
 */
function decodeLibraryState(text: string): unknown {
  return revive(parseJson(text));
}

function revive(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(revive);
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === ESCAPED) return (value as Json)[ESCAPED];
  const revived = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, revive(item)]));
  if (revived.lc === 1) return reviveMessage(revived) ?? revived;
  return revived.lc === 2 ? reviveOwn(revived) : revived;
}

function reviveMessage({ type, id, kwargs }: Json): object | undefined {
  if (type !== 'constructor' || !Array.isArray(id) || typeof kwargs !== 'object' || kwargs === null)
    return undefined;
  const name = String(id.at(-1));
  if (!isMessageClass(id.slice(0, -1).join('/'), name)) return undefined;
  return buildMessage({ name, fields: { ...kwargs } });
}

function reviveOwn(record: Json): unknown {
  if (record.type === 'undefined') return undefined;
  if (record.type === 'delta_snapshot') return new DeltaSnapshot(record.value);
  const { id, args } = record;
  if (record.type !== 'constructor' || !Array.isArray(id) || !Array.isArray(args)) return record;
  const [first, second]: unknown[] = args;
  switch (id.join('/')) {
    case 'Set':
      return Array.isArray(first) ? new Set(first) : record;
    case 'Map':
      return Array.isArray(first) ? new Map(pairs(first)) : record;
    case 'Uint8Array':
      return Array.isArray(first) ? Uint8Array.from(first.map(Number)) : record;
    case 'Error':
      return new Error(String(first));
    case 'RegExp':
      return regularExpression(String(first), String(second)) ?? record;
    default:
      return record;
  }
}

function regularExpression(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags);
  } catch {
    return undefined;
  }
}

type Tagged = Readonly<Record<string, unknown>>;

/** Text of JSON back to the value of `encodeState`. No class outside a closed list is ever made from it. */
function decodeState(text: string): unknown {
  const value: unknown = parseJson(text);
  // most values of a state have no tag at all
  return text.includes(`"${TAG}"`) ? decode(value) : value;
}

function decode(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) value[at] = decode(value[at]);
    return value;
  }
  for (const [key, item] of Object.entries(value)) setOwn(value, key, decode(item));
  return Object.hasOwn(value, TAG) ? restore(value as Tagged) : value;
}

/** `__proto__` as a key of JSON is data like any other. */
function setOwn(target: object, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else (target as Record<string, unknown>)[key] = value;
}

/** Value of a tag; an unknown tag stays as it is. */
function restore(tagged: Tagged): unknown {
  const { [TAG]: tag, value, source, flags, message } = tagged;
  switch (tag) {
    case 'undefined':
      return undefined;
    case 'bigint':
      return BigInt(String(value));
    case 'number':
      return Number(value);
    case 'bytes':
      return new Uint8Array(Buffer.from(String(tagged.base64), 'base64'));
    case 'map':
      return new Map(pairs(tagged.entries));
    case 'set':
      return new Set(Array.isArray(tagged.values) ? tagged.values : []);
    case 'regexp':
      return new RegExp(String(source), String(flags));
    case 'error':
      return new Error(String(message));
    case 'delta':
      return new DeltaSnapshot(value);
    case 'object':
      return Object.fromEntries(pairs(tagged.entries) as [string, unknown][]);
    case 'message': {
      const fields = Object.fromEntries(pairs(tagged.fields) as [string, unknown][]);
      return buildMessage({ name: String(tagged.name), fields }) ?? fields;
    }
    default:
      return tagged;
  }
}

/** Type of the values that this serialiser writes. */
const STATE = 'state';
const BYTES = 'bytes';
/** Type of the values that LangGraph's own serialiser writes. */
const LIBRARY = 'json';

/**
 * Writes and reads the values of checkpoints. Values that callers, models and tools write are data: they come
 * back as the equal JSON value, and of classes only messages and a few of JavaScript's own (maps, sets,
 * bytes, errors, …) are made again. (LangGraph's own serialiser calls any class of `langchain_core` that
 * stored JSON names, with arguments that it names.)
 */
export const stateSerializer: SerializerProtocol = {
  dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    if (value instanceof Uint8Array) return Promise.resolve([BYTES, value]);
    return Promise.resolve([STATE, Buffer.from(encodeState(value) ?? '', 'utf8')]);
  },

  loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    const bytes = typeof data === 'string' ? Buffer.from(data, 'utf8') : data;
    if (type === BYTES) return Promise.resolve(bytes);
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
    if (text === '') return Promise.resolve(undefined);
    if (type === STATE) return Promise.resolve(decodeState(text));
    if (type === LIBRARY) return Promise.resolve(decodeLibraryState(text));
    return Promise.reject(new Error(`reading a stored value failed: unknown type ${type}`));
  },
};
