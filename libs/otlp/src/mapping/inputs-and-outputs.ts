import { eachItem, eachMember, type JsonWalk, OPEN_OBJECT, QUOTE } from '#lib/json';
import type { AttributeValue, SpanEvent } from '../span.js';
import { asJson, type JsonMember, jsonObject, jsonOf, jsonPayload, jsonScalar } from './json-text.js';
import { nestAttributes, type TakenAttributes } from './taken-attributes.js';

/** Payloads of a run as JSON objects. */
export interface InputsAndOutputs {
  readonly inputs: string | undefined;
  readonly outputs: string | undefined;
}

type Way = (span: TakenAttributes) => JsonWalk<string | undefined>;

function messages(list: readonly AttributeValue[] | undefined): JsonMember[] {
  return list === undefined ? [] : [['messages', JSON.stringify(list)]];
}

function* member(name: string, value: AttributeValue | undefined): JsonWalk<JsonMember[]> {
  return value === undefined ? [] : [[name, (yield* jsonOf(value)).text]];
}

function objectOf(...members: readonly (readonly JsonMember[])[]): string | undefined {
  const all = members.flat();
  return all.length === 0 ? undefined : jsonObject(all);
}

/** The whole of inputs or outputs in one attribute. */
function whole(name: 'input' | 'output', ...attributes: readonly string[]): Way {
  return (span) => payloadAt(span.takeFirst(attributes), name);
}

/** The same for a convention whose values are always JSON: a text comes in quotes. */
function wholeJson(name: 'input' | 'output', attribute: string): Way {
  return function* (span) {
    const value = span.take(attribute);
    if (value === undefined || value === '') return undefined;
    const scalar = typeof value === 'string' ? yield* jsonScalar(value) : undefined;
    return scalar === undefined ? yield* jsonPayload(value, name) : jsonObject([[name, scalar]]);
  };
}

/** Messages of OpenInference, with the value that they were taken from. */
function openInference(name: 'input' | 'output'): Way {
  return function* (span) {
    const list = span.takeList(`llm.${name}_messages`);
    const value = span.take(`${name}.value`);
    span.take(`${name}.mime_type`);
    if (list === undefined) return yield* payloadAt(value, name);
    return objectOf(messages(list), yield* member('value', value));
  };
}

/** Documents as the clients of LangChain spell them. */
function* documents(span: TakenAttributes): JsonWalk<string | undefined> {
  const list = span.takeList('retrieval.documents') ?? span.takeList('reranker.output_documents');
  if (list === undefined) return undefined;
  const spelled: string[] = [];
  for (const document of list) spelled.push(yield* spelledDocument(document));
  const value = span.take('output.value');
  return objectOf([['documents', `[${spelled.join()}]`]], yield* member('value', value));
}

function* spelledDocument(document: AttributeValue): JsonWalk<string> {
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    return JSON.stringify(document);
  const members: JsonMember[] = [];
  for (const [part, value] of Object.entries(document))
    if (part === 'document.content' || part === 'content')
      members.push(['page_content', JSON.stringify(value)]);
    else members.push([part, part === 'metadata' ? (yield* jsonOf(value)).text : JSON.stringify(value)]);
  return jsonObject(members);
}

/** A payload of one member. */
function one(name: string, valueOf: (span: TakenAttributes) => AttributeValue | undefined): Way {
  return function* (span) {
    return objectOf(yield* member(name, valueOf(span)));
  };
}

/** JSON of values that were sent as one text of JSON each. */
function listed(name: string, attribute: string): Way {
  return function* (span) {
    const values = span.take(attribute);
    if (!Array.isArray(values)) return objectOf(yield* member(name, values));
    const items: string[] = [];
    for (const value of values as readonly AttributeValue[])
      items.push(
        (typeof value === 'string' ? yield* jsonScalar(value) : undefined) ?? (yield* jsonOf(value)).text,
      );
    return jsonObject([[name, `[${items.join()}]`]]);
  };
}

const CONVERSATIONS = ['pydantic_ai.all_messages', 'all_messages_events'];
const TOOL_ANSWER = Buffer.from('"tool_call_response"');

/** The last message of a user in a conversation of Pydantic AI, which sends answers of tools in that role as well. */
function* question(span: TakenAttributes): JsonWalk<JsonMember[]> {
  const value = CONVERSATIONS.map((name) => span.look(name)).find((one) => one !== undefined);
  const json = typeof value === 'string' ? yield* asJson(value) : undefined;
  if (json?.kind !== 'array') return [];
  const bytes = Buffer.from(json.text);
  let asked: string | undefined;
  yield* eachItem(bytes, 0, function* ({ start, end }) {
    const isAsked = (yield* textAt(bytes, start, 'role')) === 'user';
    if (isAsked && !bytes.subarray(start, end).includes(TOOL_ANSWER))
      asked = bytes.toString('utf8', start, end);
    return true;
  });
  return asked === undefined ? [] : [['messages', `[${asked}]`]];
}

/** Names of Google's Agent Development Kit. */
const ADK = 'gcp.vertex.agent.';

const INPUTS: readonly Way[] = [
  whole('input', 'gen_ai.prompt'),
  function* (span) {
    const given = yield* member('messages', span.take('gen_ai.input.messages'));
    const asked = given.length > 0 ? given : yield* question(span);
    return objectOf(asked, yield* member('system_instructions', span.take('gen_ai.system_instructions')));
  },
  function* (span) {
    return objectOf(messages(span.takeList('gen_ai.prompt')));
  },
  openInference('input'),
  one('documents', (span) => span.takeList('reranker.input_documents')),
  wholeJson('input', 'traceloop.entity.input'),
  whole('input', 'gen_ai.tool.call.arguments'),
  one('query', (span) => span.take('gen_ai.retrieval.query.text')),
  one('messages', (span) => span.take('ai.prompt.messages')),
  whole('input', 'ai.prompt', 'ai.toolCall.args', 'ai.toolCall.input'),
  wholeJson('input', 'ai.value'),
  listed('input', 'ai.values'),
  whole('input', 'prompt', 'request_data', 'tool_arguments'),
  // a tool has an empty request beside its arguments
  whole('input', `${ADK}tool_call_args`, `${ADK}llm_request`, `${ADK}data`),
];

const OUTPUTS: readonly Way[] = [
  documents,
  whole('output', 'gen_ai.completion'),
  one('messages', (span) => span.take('gen_ai.output.messages')),
  function* (span) {
    return objectOf(messages(span.takeList('gen_ai.completion')));
  },
  openInference('output'),
  one('embeddings', (span) => span.takeList('embedding.embeddings')),
  wholeJson('output', 'traceloop.entity.output'),
  whole('output', 'gen_ai.tool.call.result'),
  one('documents', (span) => span.take('gen_ai.retrieval.documents')),
  function* (span) {
    const text = span.take('ai.response.text');
    const calls = span.take('ai.response.toolCalls');
    if (calls === undefined) return yield* payloadAt(text, 'output');
    return objectOf(yield* member('text', text), yield* member('tool_calls', calls));
  },
  whole('output', 'ai.response.object', 'ai.toolCall.result', 'ai.toolCall.output'),
  listed('embedding', 'ai.embedding'),
  listed('embeddings', 'ai.embeddings'),
  function* (span) {
    const result = yield* member('output', span.take('final_result'));
    return result.length === 0
      ? undefined
      : objectOf(result, yield* member('messages', span.takeFirst(CONVERSATIONS)));
  },
  whole('output', ...CONVERSATIONS, 'response_data', 'tool_response'),
  whole('output', `${ADK}tool_response`, `${ADK}llm_response`),
];

/**
 * The result of the first way that finds something. Data that others would find in the same span stays among
 * its metadata.
 */
function* firstOf(ways: readonly Way[], span: TakenAttributes): JsonWalk<string | undefined> {
  for (const way of ways) {
    const found = yield* way(span);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Events of a conversation by their content. */
const INPUT_EVENTS = new Set(['gen_ai.system.message', 'gen_ai.user.message']);
const OUTPUT_EVENTS = new Set(['gen_ai.assistant.message', 'gen_ai.tool.message']);
const CHOICE = 'gen_ai.choice';
const CONTENT_PROMPT = 'gen_ai.content.prompt';
const CONTENT_COMPLETION = 'gen_ai.content.completion';
const DETAILS = 'gen_ai.client.inference.operation.details';

const CONVERSATION: ReadonlySet<string> = new Set([
  ...INPUT_EVENTS,
  ...OUTPUT_EVENTS,
  CHOICE,
  CONTENT_PROMPT,
  CONTENT_COMPLETION,
  DETAILS,
]);

/** True when an event is taken for inputs or outputs, instead of being kept as an event. */
export function isOfConversation(event: Pick<SpanEvent, 'name'>): boolean {
  return CONVERSATION.has(event.name);
}

function* messageOf({ name, attributes }: SpanEvent): JsonWalk<string> {
  const body = attributes.get('gen_ai.event.content') ?? attributes.get('body');
  if (typeof body === 'string' && body !== '') return (yield* jsonOf(body)).text;
  const members = [...attributes].filter(([key]) => key !== 'gen_ai.system' && key !== 'event.name');
  const nested = nestAttributes(members);
  const role = /^gen_ai\.(\w+)\.message$/.exec(name)?.[1];
  if (role === undefined || attributes.has('role')) return JSON.stringify(nested);
  return JSON.stringify({ role, ...(Array.isArray(nested) ? {} : (nested as object)) });
}

/** Inputs and outputs in the events of a span. */
function* ofEvents(events: readonly SpanEvent[]): JsonWalk<InputsAndOutputs> {
  const [asked, answered, choices]: [string[], string[], string[]] = [[], [], []];
  let inputs: string | undefined;
  let outputs: string | undefined;
  for (const event of events) {
    const { name, attributes } = event;
    if (INPUT_EVENTS.has(name)) asked.push(yield* messageOf(event));
    else if (OUTPUT_EVENTS.has(name)) answered.push(yield* messageOf(event));
    else if (name === CHOICE) choices.push(yield* messageOf(event));
    else if (name === CONTENT_PROMPT) inputs = yield* payloadAt(attributes.get('gen_ai.prompt'), 'input');
    else if (name === CONTENT_COMPLETION)
      outputs = yield* payloadAt(attributes.get('gen_ai.completion'), 'output');
    else if (name === DETAILS) {
      inputs = objectOf(yield* member('messages', attributes.get('gen_ai.input.messages'))) ?? inputs;
      outputs = objectOf(yield* member('messages', attributes.get('gen_ai.output.messages'))) ?? outputs;
    }
  }
  // if a span has choices as its answer, the answers before are part of its question
  if (choices.length > 0) asked.push(...answered.splice(0));
  return {
    inputs: inputs ?? lists([['messages', asked]]),
    outputs:
      outputs ??
      lists([
        ['messages', answered],
        ['choices', choices],
      ]),
  };
}

function* payloadAt(
  value: AttributeValue | undefined,
  name: 'input' | 'output',
): JsonWalk<string | undefined> {
  return value === undefined ? undefined : yield* jsonPayload(value, name);
}

function lists(given: readonly (readonly [name: string, items: readonly string[]])[]): string | undefined {
  return objectOf(
    given.flatMap(([name, items]): JsonMember[] => (items.length === 0 ? [] : [[name, `[${items.join()}]`]])),
  );
}

/** Maximum number of events of one attribute that are listed apart. */
const MAX_LISTED = 5_000;

/** Logfire sends the events of a conversation in one attribute. */
function* ofEventsAttribute(span: TakenAttributes): JsonWalk<InputsAndOutputs> {
  const value = span.look('events');
  const json = typeof value === 'string' ? yield* asJson(value) : undefined;
  if (json?.kind !== 'array') return { inputs: undefined, outputs: undefined };
  span.take('events');
  const [asked, choices]: [string[], string[]] = [[], []];
  const bytes = Buffer.from(json.text);
  let left = MAX_LISTED;
  yield* eachItem(bytes, 0, function* (item) {
    if (--left < 0) return false;
    const isChoice = (yield* textAt(bytes, item.start, 'event.name')) === CHOICE;
    (isChoice ? choices : asked).push(bytes.toString('utf8', item.start, item.end));
    return true;
  });
  if (left < 0) return { inputs: jsonObject([['messages', json.text]]), outputs: undefined };
  return { inputs: lists([['messages', asked]]), outputs: lists([['choices', choices]]) };
}

/** A short text of an object that begins there; undefined for anything else. */
function* textAt(bytes: Buffer, at: number, member: string): JsonWalk<string | undefined> {
  if (bytes[at] !== OPEN_OBJECT) return undefined;
  let text: string | undefined;
  yield* eachMember(bytes, at, (name, { start, end }) => {
    if (name === member && bytes[start] === QUOTE) text = bytes.toString('utf8', start + 1, end - 1);
  });
  return text;
}

/** Inputs and outputs in whichever way the span has them. */
export function* inputsAndOutputs(
  span: TakenAttributes,
  events: readonly SpanEvent[],
): JsonWalk<InputsAndOutputs> {
  const conversation = yield* ofEvents(events);
  const listedEvents = yield* ofEventsAttribute(span);
  return {
    inputs: (yield* firstOf(INPUTS, span)) ?? listedEvents.inputs ?? conversation.inputs,
    outputs: (yield* firstOf(OUTPUTS, span)) ?? listedEvents.outputs ?? conversation.outputs,
  };
}
