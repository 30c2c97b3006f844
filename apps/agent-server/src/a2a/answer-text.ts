import { PublicError } from '#lib/errors';
import {
  isJsonObject,
  itemsOf,
  membersOf,
  parseShort,
  valueAt,
  type JsonSpan,
  type JsonWalk,
} from '#lib/json';
import { fileOfBlock, type FilePart } from './files.js';
import type { AnswerContent } from './task.js';

/** Content of a message: text, or blocks of which some are text. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  const blocks: unknown[] = Array.isArray(content) ? content : [];
  return blocks
    .map((block) =>
      isJsonObject(block) && block['type'] === 'text' && typeof block['text'] === 'string'
        ? block['text']
        : '',
    )
    .join('');
}

function filesIn(content: unknown): readonly FilePart[] {
  return Array.isArray(content) ? content.flatMap((block) => fileOfBlock(block) ?? []) : [];
}

const MODEL_KINDS: ReadonlySet<unknown> = new Set(['ai', 'assistant', 'AIMessageChunk']);

/** A message of the model, in any of the forms in which states hold them. */
export function isOfModel(message: unknown): boolean {
  if (!isJsonObject(message)) return false;
  return MODEL_KINDS.has(message['type'] ?? message['role']);
}

/** Longer answers are read as a state: protocols repeat them, in artifacts, messages and histories. */
const MAX_ANSWER_CHARS = 4 * 1024 * 1024;

/** Characters of a word that are read to judge a message; longer words match none of the known ones. */
const MAX_WORD_CHARS = 1_000;

interface Answer {
  /** True when there is a list of messages at all. */
  readonly hasMessages: boolean;
  /** Content of the message that answers. */
  readonly content: JsonSpan | undefined;
  readonly hasInput: boolean;
}

/** Messages of a state before a run. */
export interface EarlierMessages {
  readonly ids: ReadonlySet<unknown>;
  /** Number of messages without an id, which come first. */
  readonly others: number;
}

function* answerIn(
  values: string,
  from: number,
  inputId: string | undefined,
  earlier: EarlierMessages,
): JsonWalk<Answer> {
  const messages = yield* valueAt(values, ['messages'], from);
  let content: JsonSpan | undefined;
  let [hasInput, others] = [false, earlier.others];
  for (const message of messages ? itemsOf(values, messages.start) : []) {
    if (!message) {
      yield undefined;
      continue;
    }
    const { id, kind, content: said } = yield* headOf(values, message.start);
    if (inputId !== undefined && id === inputId) [content, hasInput] = [undefined, true];
    else if (earlier.ids.has(id) || (id === undefined && others-- > 0)) continue;
    else if (MODEL_KINDS.has(kind)) content = said;
  }
  return { hasMessages: messages !== undefined && values[messages.start] === '[', content, hasInput };
}

/** The messages of a state, from a place on. */
export function* messagesIn(values: string, from: number): JsonWalk<EarlierMessages> {
  const messages = yield* valueAt(values, ['messages'], from);
  const ids = new Set<unknown>();
  let others = 0;
  for (const message of messages ? itemsOf(values, messages.start) : []) {
    const { id } = message ? yield* headOf(values, message.start) : {};
    if (!message) yield undefined;
    else if (id === undefined) others += 1;
    else ids.add(id);
  }
  return { ids, others };
}

interface MessageHead {
  readonly id: unknown;
  readonly kind: unknown;
  readonly content: JsonSpan | undefined;
}

function* headOf(json: string, start: number): JsonWalk<MessageHead> {
  let content: JsonSpan | undefined;
  const words: Record<'id' | 'type' | 'role', unknown> = { id: undefined, type: undefined, role: undefined };
  for (const member of membersOf(json, start)) {
    if (!member) yield undefined;
    else if (member.name === 'content') content = member;
    else if (member.name === 'id' || member.name === 'type' || member.name === 'role')
      words[member.name] = wordAt(json, member);
  }
  return { id: words.id, kind: words.type ?? words.role, content };
}

function wordAt(json: string, { start, end }: JsonSpan): unknown {
  return end - start > MAX_WORD_CHARS ? undefined : parseShort(json.slice(start, end), MAX_WORD_CHARS);
}

export interface AnswerText {
  /** True when the state has a list of messages. */
  readonly hasMessages: boolean;
  /** Undefined when there is no answer. */
  readonly answer: AnswerContent | undefined;
  /** True when the message that the run was given is among them. */
  readonly hasInput: boolean;
}

const NONE_EARLIER: EarlierMessages = { ids: new Set(), others: 0 };

/**
 * Answer of a run: the last message of the model after the message that the run was given.
 * @param values JSON text of the values of the thread as the wire shows them, from a place on
 * @param inputId id of that message; when it is not among the messages, all of them count that are not
 *   `earlier`
 * @throws PublicError `too_large`
 */
export function* answerText(
  values: string,
  inputId: string | undefined,
  from = 0,
  earlier = NONE_EARLIER,
): JsonWalk<AnswerText> {
  const { hasMessages, content, hasInput } = yield* answerIn(values, from, inputId, earlier);
  if (!content) return { hasMessages, answer: undefined, hasInput };
  const length = content.end - content.start;
  if (length > MAX_ANSWER_CHARS)
    throw new PublicError(
      'too_large',
      `The answer has ${length} characters, and ${MAX_ANSWER_CHARS} is the most here; read the state of the thread`,
    );
  const given = parseShort(values.slice(content.start, content.end), MAX_ANSWER_CHARS);
  const text = contentText(given);
  const files = filesIn(given);
  return { hasMessages, answer: text === '' && files.length === 0 ? undefined : { text, files }, hasInput };
}
