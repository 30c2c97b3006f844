type Dict = Record<string, unknown>;

interface MessageLike {
  toDict(): { type: string; data: Dict };
}

/** A chat message of any copy of LangChain. */
function isMessage(value: object): value is MessageLike {
  return (
    typeof Reflect.get(value, '_getType') === 'function' && typeof Reflect.get(value, 'toDict') === 'function'
  );
}

function isPlain(value: object): value is Dict {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Key under which LangChain puts aside objects of a message's fields that look like its own text of a class. */
const ESCAPED = '__lc_escaped__';

/** The fields of a message as they are, without LangChain's marks. */
function unescaped(data: Dict): Dict {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, withoutMarks(value)]));
}

function withoutMarks(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (!isPlain(value)) return value;
  const keys = Object.keys(value);
  return keys.length === 1 && keys[0] === ESCAPED ? value[ESCAPED] : unescaped(value);
}

/**
 * A value as the wire shows it: messages flat (`{type, content, …}`), errors as `{error, message}`, maps and sets as
 * objects and arrays. Plain data goes through untouched.
 */
export function toWire(value: unknown): unknown {
  if (value === null || typeof value !== 'object')
    return typeof value === 'bigint' ? value.toString() : value;
  if (Array.isArray(value)) return value.map(toWire);
  if (isMessage(value)) {
    const { type, data } = value.toDict();
    return { ...unescaped(data), type };
  }
  if (value instanceof Error) return errorOnWire(value);
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([key, item]) => [String(key), toWire(item)]));
  if (value instanceof Set) return [...value].map(toWire);
  if (!isPlain(value)) return value;
  // from entries: an assignment to `__proto__` would be lost
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toWire(item)]));
}

/**
 * JSON text of a value; `undefined` becomes `null`. A value without JSON (a cycle) becomes a note about that
 * instead of failing the run.
 */
export function wireJson(value: unknown): string {
  try {
    return JSON.stringify(toWire(value)) ?? 'null';
  } catch (error) {
    return JSON.stringify({ __unserializable__: error instanceof Error ? error.message : String(error) });
  }
}

export interface WireError {
  readonly error: string;
  readonly message: string;
}

/** Form of any thrown value on the wire. Never throws, whatever it is given. */
export function errorOnWire(thrown: unknown): WireError {
  try {
    if (thrown instanceof Error || (typeof thrown === 'object' && thrown !== null && 'message' in thrown)) {
      const name: unknown = Reflect.get(thrown, 'name');
      const message: unknown = Reflect.get(thrown, 'message');
      return { error: typeof name === 'string' ? name : 'Error', message: String(message) };
    }
    if (typeof thrown === 'object' && thrown !== null) return { error: 'Error', message: wireJson(thrown) };
    return { error: 'Error', message: String(thrown) };
  } catch {
    return { error: 'Error', message: 'something was thrown that cannot be shown' };
  }
}
