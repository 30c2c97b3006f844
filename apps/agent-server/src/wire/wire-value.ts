import { type JsonWalk, membersOf, isJsonObject, type JsonObject } from '#lib/json';

/** The text of a JSON object with more members behind its own. */
export function withMembers(object: string, more: object): string {
  const members = JSON.stringify(more).slice(1);
  if (members === '}') return object;
  return object === '{}' ? `{${members}` : `${object.slice(0, -1)},${members}`;
}

/** The text of a JSON object with the members chosen by name; `{}` for anything but an object. */
export function* chosenMembers(
  json: string,
  isChosen: (name: string) => boolean,
  from = 0,
): JsonWalk<string> {
  const members: string[] = [];
  for (const member of membersOf(json, from)) {
    if (!member) yield undefined;
    else if (isChosen(member.name))
      members.push(`${JSON.stringify(member.name)}:${json.slice(member.start, member.end)}`);
  }
  return `{${members.join(',')}}`;
}

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

/** The checkpoint that a configuration names; null when it names none. */
export function checkpointOf(config: unknown): JsonObject | null {
  if (!isJsonObject(config) || !isJsonObject(config['configurable'])) return null;
  const { thread_id, checkpoint_ns, checkpoint_id, checkpoint_map } = config['configurable'];
  if (thread_id === undefined) return null;
  return {
    thread_id,
    checkpoint_ns: checkpoint_ns ?? '',
    checkpoint_id: checkpoint_id ?? null,
    checkpoint_map: checkpoint_map ?? null,
  };
}

/** A configuration without the keys that only the server may see. */
function publicConfig(config: unknown): unknown {
  if (!isJsonObject(config)) return config;
  const { configurable, tags, metadata, recursionLimit } = config;
  const shown = isJsonObject(configurable)
    ? Object.fromEntries(Object.entries(configurable).filter(([key]) => !key.startsWith('__')))
    : configurable;
  return { configurable: shown, tags, metadata, recursion_limit: recursionLimit };
}

function taskOnWire(task: unknown): unknown {
  if (!isJsonObject(task)) return task;
  const { state, ...other } = task;
  const checkpoint = checkpointOf(state);
  return checkpoint ? { ...other, checkpoint } : task;
}

/** The library's description of a checkpoint, in the names of the wire. */
export function checkpointOnWire(payload: unknown): unknown {
  if (!isJsonObject(payload)) return payload;
  const { config, parentConfig, tasks, ...rest } = payload;
  return {
    ...rest,
    config: publicConfig(config),
    parent_config: publicConfig(parentConfig),
    checkpoint: checkpointOf(config),
    parent_checkpoint: checkpointOf(parentConfig),
    tasks: Array.isArray(tasks) ? tasks.map(taskOnWire) : tasks,
  };
}
