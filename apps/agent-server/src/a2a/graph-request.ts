import { isJsonObject, type JsonObject } from '#lib/json';
import { A2aError, invalidParam } from './envelope.js';
import type { Agent } from './agents.js';
import { blockOfFile } from './files.js';
import type { Part } from './task.js';

/** `__` steers LangGraph and objects themselves. */
const RESERVED = /^__/;

/** One text as it is, other parts as blocks, so that their borders stay. */
function contentOf(parts: readonly Part[]): string | readonly JsonObject[] {
  const [first] = parts;
  if (parts.length === 1 && first?.kind === 'text') return first.text;
  return parts.map((part): JsonObject => {
    if (part.kind === 'file') return blockOfFile(part);
    return { type: 'text', text: part.kind === 'text' ? part.text : JSON.stringify(part.data) };
  });
}

function textsOf(parts: readonly Part[]): string[] {
  return parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
}

/** Parts of a message as a graph gets them. */
interface Sorted {
  /** Members of the graph's input. */
  readonly members: JsonObject;
  /** Parts that make its message; data among them are not part of the input. */
  readonly said: readonly Part[];
}

/**
 * Data become members of a graph's input: never `messages`, and only members that the graph accepts. The other
 * members stay in the message, where the graph can read them.
 */
function sorted(parts: readonly Part[], { inputKeys }: Agent): Sorted {
  const members = new Map<string, unknown>();
  const said = parts.flatMap((part, at): readonly Part[] => {
    if (part.kind !== 'data') return [part];
    const others = Object.entries(part.data).filter(([key, value]) => {
      const field = `message.parts[${at}].data.${key}`;
      if (key === 'messages') throw invalidParam(field, 'cannot be set by data; send text parts');
      if (RESERVED.test(key)) throw invalidParam(field, 'is reserved; use another name');
      if (inputKeys && !inputKeys.has(key)) return true;
      if (members.has(key)) throw invalidParam(field, 'comes twice; send it in one part');
      members.set(key, value);
      return false;
    });
    return others.length === 0 ? [] : [{ kind: 'data', data: Object.fromEntries(others) }];
  });
  return { members: Object.fromEntries(members), said };
}

/** The input of a graph, and what only its message can tell. */
export interface GraphInput {
  readonly input: JsonObject;
  /** Places of the message's content that hold data as JSON text. */
  readonly dataBlocks: readonly number[];
}

/**
 * The input of a graph that a message makes.
 * @param inputId id of the human message in the graph's state
 * @throws A2aError `invalidParams`
 */
export function graphInputOf(parts: readonly Part[], inputId: string, agent: Agent): GraphInput {
  const { members, said } = sorted(parts, agent);
  const dataBlocks = said.flatMap(({ kind }, at) => (kind === 'data' ? [at] : []));
  if (said.length === 0) return { input: members, dataBlocks };
  const message = { role: 'user', content: contentOf(said), id: inputId };
  return { input: { ...members, messages: [message] }, dataBlocks };
}

/** A question that a graph has stopped for. */
export interface Question {
  readonly id: string | undefined;
  readonly value: unknown;
  /** JSON Schema of the answer that the graph wants; undefined when it says none. */
  readonly responseSchema?: JsonObject;
}

/** The questions of a thread, by the task that asks. */
export function questionsOf(interrupts: JsonObject): readonly Question[] {
  return Object.values(interrupts)
    .flatMap((of): unknown[] => (Array.isArray(of) ? of : []))
    .filter(isJsonObject)
    .map(({ id, value, response_schema: schema }) => ({
      id: typeof id === 'string' ? id : undefined,
      value,
      ...(isJsonObject(schema) ? { responseSchema: schema } : {}),
    }));
}

/**
 * Value with which a waiting graph continues: a text, data as they are, or answers by the ids of their
 * questions.
 * @throws A2aError `invalidParams`
 */
export function resumeOf(parts: readonly Part[], questions: readonly Question[]): unknown {
  const [first] = parts;
  if (parts.some(({ kind }) => kind === 'file' || (kind === 'data' && parts.length !== 1)))
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
