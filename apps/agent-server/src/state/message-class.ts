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
export function isMessageClass(namespace: string, name: string): boolean {
  return namespace === NAMESPACE && CLASSES.has(name);
}

/**
 * Takes a message apart. The agent's folder brings its own copy of LangChain, so classes are recognized by
 * their names, and one that extends a message class counts as the class that it extends.
 * @returns undefined for everything that is not a message, JSON that imitates one included
 */
export function messageParts(value: object): MessageParts | undefined {
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
export function buildMessage({ name, fields }: MessageParts): object | undefined {
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
