import { isJsonObject, type JsonObject } from '#lib/json';

/** Sender of a message. */
export type Speaker = 'user' | 'agent' | 'system' | 'tool' | 'other';

/** A call of a tool that a message asks for. */
export interface ToolCall {
  readonly name: string;
  /** Arguments as they were sent: an object, or the text of one. */
  readonly args: unknown;
}

/** A message in one of the shapes that clients send: with a role, with a type, or as LangChain stores objects. */
export interface Message {
  readonly by: Speaker;
  /** Name of the tool or of the agent. */
  readonly name: string | undefined;
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** Kinds of the parts that are not text, such as `image_url`. */
  readonly parts: readonly string[];
}

const SPEAKERS: Readonly<Record<string, Speaker>> = {
  user: 'user',
  human: 'user',
  assistant: 'agent',
  ai: 'agent',
  system: 'system',
  developer: 'system',
  tool: 'tool',
  function: 'tool',
};

/** Speaker of a role, a type, or the name of a class such as `AIMessageChunk`. */
function speakerOf(word: string): Speaker {
  const name = word.toLowerCase().replace(/message(chunk)?$/, '');
  return Object.hasOwn(SPEAKERS, name) ? (SPEAKERS[name] ?? 'other') : 'other';
}

/** Parts of a message that are shown as calls, or are no more than text. */
const SHOWN_PARTS: ReadonlySet<unknown> = new Set(['text', 'tool_use', 'tool_call', 'input_json_delta']);

/** Text of a message's content, which is text or a list of blocks. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((block: unknown) => {
      if (typeof block === 'string') return block;
      return isJsonObject(block) && typeof block['text'] === 'string' ? block['text'] : '';
    })
    .join('');
}

function partsOf(content: unknown): readonly string[] {
  if (!Array.isArray(content)) return [];
  return content
    .filter(isJsonObject)
    .filter(({ type, text }) => typeof text !== 'string' && !SHOWN_PARTS.has(type))
    .map(({ type }) => (typeof type === 'string' ? type : 'part'));
}

function callsOf(calls: unknown): readonly ToolCall[] {
  if (!Array.isArray(calls)) return [];
  return calls.filter(isJsonObject).map((call) => {
    const inner = isJsonObject(call['function']) ? call['function'] : call;
    return { name: String(inner['name']), args: inner['args'] ?? inner['arguments'] };
  });
}

function messageOf(value: unknown): Message | undefined {
  if (!isJsonObject(value)) return undefined;
  const { kwargs, id } = value;
  const inner = isJsonObject(kwargs) ? kwargs : value;
  const { content, name } = inner;
  const calls = callsOf(inner['tool_calls'] ?? given(inner['additional_kwargs'], 'tool_calls'));
  const word = Array.isArray(id) ? (id as unknown[]).at(-1) : (value['role'] ?? value['type']);
  // a call of a tool in the words of OpenAI has null for its content
  if (content === undefined || (content === null && calls.length === 0)) return undefined;
  return {
    by: speakerOf(typeof word === 'string' ? word : ''),
    name: typeof name === 'string' && name !== '' ? name : undefined,
    text: contentText(content),
    calls,
    parts: partsOf(content),
  };
}

function given(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined;
}

/** The messages of a model's answer: LangChain's generations, or the choices of OpenAI. */
function answersOf({ generations, choices }: JsonObject): unknown {
  const answers = generations ?? choices;
  if (!Array.isArray(answers)) return undefined;
  return (answers as readonly unknown[]).flat().map((one) => given(one, 'message'));
}

/**
 * Messages of a state, of a node's output, of a model's inputs, which are lists of lists, or of its answer.
 * @returns an empty list for values without messages
 */
export function readMessages(values: unknown): readonly Message[] {
  const found = isJsonObject(values) ? (values['messages'] ?? values['output'] ?? answersOf(values)) : values;
  if (found === undefined || found === null) {
    const own = messageOf(values);
    return own && own.by !== 'other' ? [own] : [];
  }
  const list = Array.isArray(found) ? (found as readonly unknown[]).flat() : [found];
  return list.flatMap((one) => messageOf(one) ?? []);
}

const LABELS: Readonly<Record<Speaker, string>> = {
  user: 'human',
  agent: 'ai',
  system: 'system',
  tool: 'tool',
  other: 'other',
};

/**
 * Lines of a message for a terminal: its sender before the first one, each call of a tool in one line. Others wrote what
 * is in them.
 */
export function messageLines({ by, text, calls, parts }: Message): readonly string[] {
  const said = text.trim();
  const lines = [
    ...(said === '' ? [] : said.split('\n')),
    ...calls.map(({ name, args }) => `· ${name} ${JSON.stringify(args)}`.replaceAll('\n', ' ')),
    ...parts.map((kind) => `[${kind.replaceAll('\n', ' ')}]`),
  ];
  return lines.map((line, at) => `${(at === 0 ? LABELS[by] : '').padEnd(6)}${line}`);
}
