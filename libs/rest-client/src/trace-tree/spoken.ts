/** Values of a run: inputs or outputs. */
type Values = unknown;

type Fields = Readonly<Record<string, unknown>>;

const USER: ReadonlySet<string> = new Set(['user', 'human', 'humanmessage', 'humanmessagechunk']);
const AGENT: ReadonlySet<string> = new Set(['assistant', 'ai', 'aimessage', 'aimessagechunk']);
/** Names of values that hold text where there are no messages. */
const TEXTS: readonly string[] = [
  'input',
  'resume',
  'question',
  'query',
  'text',
  'content',
  'output',
  'answer',
  'result',
];
/** Depth at which a value is no longer searched for text. */
const DEEPEST = 4;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A message in one of the shapes that clients send: with a role, with a type, or as LangChain stores objects. */
interface Spoken {
  readonly by: 'user' | 'agent' | 'other';
  readonly text: string;
  /** Names of the tools that it calls. */
  readonly calls: string;
}

function spokenOf(message: unknown): Spoken | undefined {
  if (!isFields(message)) return undefined;
  const { kwargs, id } = message;
  const inner = isFields(kwargs) ? kwargs : message;
  const named = Array.isArray(id) ? id.at(-1) : (message['role'] ?? message['type']);
  const word = String(named ?? '').toLowerCase();
  if (inner['content'] === undefined) return undefined;
  const { tool_calls: calls } = inner;
  const tools = Array.isArray(calls) ? calls.filter(isFields).map(({ name }) => `· ${String(name)}`) : [];
  const by = USER.has(word) ? 'user' : AGENT.has(word) ? 'agent' : 'other';
  return { by, text: contentText(inner['content']), calls: tools.join(' ') };
}

/** Text of a message's content, which is text or a list of blocks. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((block: unknown) => (isFields(block) && typeof block['text'] === 'string' ? block['text'] : ''))
    .join('');
}

/** Messages of a state, or of a call of a model, which has lists of them. */
function messagesOf(values: Values): readonly Spoken[] {
  const found = isFields(values) ? (values['messages'] ?? values['output']) : values;
  const list = Array.isArray(found) ? (found as readonly unknown[]).flat() : [found];
  return list.flatMap((one) => spokenOf(one) ?? []);
}

function anyText(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value;
  if (!isFields(value) || depth > DEEPEST) return '';
  for (const name of TEXTS) {
    const text = anyText(value[name], depth + 1);
    if (text !== '') return text;
  }
  return '';
}

function compact(value: unknown): string {
  const isEmpty =
    value === undefined || value === null || (isFields(value) && Object.keys(value).length === 0);
  return isEmpty ? '' : JSON.stringify(value);
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0]?.trim() ?? '';
}

/** The first line of what a person said last; without messages the text, or the values themselves in one line. */
export function askedLine(inputs: Values): string {
  const said = messagesOf(inputs).findLast(({ by, text }) => by === 'user' && text !== '');
  return firstLine(said?.text ?? anyText(inputs)) || compact(inputs);
}

/** The first line of the last answer of an agent; a call of a tool as `· NAME` where the agent has not answered yet. */
export function answerLine(outputs: Values): string {
  const messages = messagesOf(outputs);
  if (messages.length === 0) return firstLine(anyText(outputs)) || compact(outputs);
  const since = messages.slice(messages.findLastIndex(({ by }) => by === 'user') + 1);
  const said = since.findLast(({ by, text, calls }) => by === 'agent' && (text !== '' || calls !== ''));
  return firstLine(said?.text ?? '') || (said?.calls ?? '');
}
