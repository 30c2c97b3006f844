import { isJsonObject, type JsonObject } from '#lib/json';
import { A2aError, invalidParam } from './envelope.js';
import type { Agent } from './agents.js';
import type { Part } from './task.js';

/** `__` steers LangGraph and objects themselves. */
const RESERVED = /^__/;

type Content = string | readonly { readonly type: 'text'; readonly text: string }[];

/** One text as it is, several as blocks, so that their borders stay. */
function contentOf(texts: readonly string[]): Content {
  return texts.length === 1 ? (texts[0] ?? '') : texts.map((text) => ({ type: 'text', text }));
}

function textsOf(parts: readonly Part[]): string[] {
  return parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
}

/**
 * The data of a message as members of a graph's input: never `messages`, and only members that the graph
 * accepts.
 */
function membersOf(parts: readonly Part[], { inputKeys }: Agent): JsonObject {
  const members = new Map<string, unknown>();
  parts.forEach((part, at) => {
    for (const [key, value] of part.kind === 'data' ? Object.entries(part.data) : []) {
      const field = `message.parts[${at}].data.${key}`;
      if (key === 'messages') throw invalidParam(field, 'cannot be set by data; send text parts');
      if (RESERVED.test(key)) throw invalidParam(field, 'is reserved; use another name');
      if (inputKeys && !inputKeys.has(key)) throw invalidParam(field, 'is no part of the input of the agent');
      if (members.has(key)) throw invalidParam(field, 'comes twice; send it in one part');
      members.set(key, value);
    }
  });
  return Object.fromEntries(members);
}

/**
 * The input of a graph that a message makes.
 * @param inputId id of the human message in the graph's state
 * @throws A2aError `invalidParams`
 */
export function graphInputOf(parts: readonly Part[], inputId: string, agent: Agent): JsonObject {
  const texts = textsOf(parts);
  const members = membersOf(parts, agent);
  if (texts.length === 0) return members;
  return { ...members, messages: [{ role: 'user', content: contentOf(texts), id: inputId }] };
}

/** A question that a graph has stopped for. */
export interface Question {
  readonly id: string | undefined;
  readonly value: unknown;
}

/** The questions of a thread, by the task that asks. */
export function questionsOf(interrupts: JsonObject): readonly Question[] {
  return Object.values(interrupts)
    .flatMap((of): unknown[] => (Array.isArray(of) ? of : []))
    .filter(isJsonObject)
    .map(({ id, value }) => ({ id: typeof id === 'string' ? id : undefined, value }));
}

/**
 * Value with which a waiting graph continues: a text, data as they are, or answers by the ids of their
 * questions.
 * @throws A2aError `invalidParams`
 */
export function resumeOf(parts: readonly Part[], questions: readonly Question[]): unknown {
  const [first] = parts;
  if (parts.length !== 1 && parts.some((part) => part.kind === 'data'))
    throw invalidParam('message.parts', 'must be one data part, or text parts alone, to answer a question');
  if (first?.kind === 'data') {
    const { resume, ...rest } = first.data;
    if (resume !== undefined && Object.keys(rest).length === 0) return answersById(resume, questions);
    requireOneQuestion(questions);
    return first.data;
  }
  requireOneQuestion(questions);
  return textsOf(parts).join('\n');
}

function requireOneQuestion(questions: readonly Question[]): void {
  if (questions.length < 2) return;
  const ids = questions.map(({ id }) => id).join(', ');
  throw invalidParam(
    'message.parts',
    `must be a data part {"resume": [{"id", "value"}]}: the agent asks ${questions.length} questions (${ids})`,
  );
}

function answersById(given: unknown, questions: readonly Question[]): JsonObject {
  const field = 'message.parts[0].data.resume';
  if (!Array.isArray(given) || given.length === 0)
    throw invalidParam(field, 'must be a list of {"id", "value"}');
  const known = new Set(questions.map(({ id }) => id));
  const answers = new Map<string, unknown>();
  given.forEach((answer: unknown, at) => {
    if (!isJsonObject(answer) || typeof answer['id'] !== 'string' || !('value' in answer))
      throw invalidParam(`${field}[${at}]`, 'must be {"id": text, "value": any}');
    const { id, value } = answer;
    if (typeof id !== 'string' || !known.has(id))
      throw invalidParam(`${field}[${at}].id`, 'is no question that the task asks');
    answers.set(id, value);
  });
  return Object.fromEntries(answers);
}

/** @throws A2aError `invalidParams` for an agent without `messages` */
export function requireTalk({ canTalk, assistant }: Agent): void {
  if (!canTalk)
    throw new A2aError(
      'invalidParams',
      `Graph "${assistant.graph_id}" cannot be called by A2A: its state has no "messages"`,
    );
}
