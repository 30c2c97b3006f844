import { parseJson } from '#lib/json';
import type { AttributeValue, SpanEvent } from '../span.js';
import { asJson, jsonObject, jsonOf, jsonPayload, jsonScalar } from './json-text.js';
import { nestAttributes } from './nest-attributes.js';
import type { TakenAttributes } from './taken-attributes.js';

/** Payloads of a run as JSON objects. */
export interface InputsAndOutputs {
  readonly inputs: string | undefined;
  readonly outputs: string | undefined;
}

type Member = readonly [name: string, json: string];
type Way = (span: TakenAttributes) => string | undefined;

function messages(list: readonly AttributeValue[] | undefined): Member[] {
  return list === undefined ? [] : [['messages', JSON.stringify(list)]];
}

function member(name: string, value: AttributeValue | undefined): Member[] {
  return value === undefined ? [] : [[name, jsonOf(value).text]];
}

function objectOf(...members: readonly (readonly Member[])[]): string | undefined {
  const all = members.flat();
  return all.length === 0 ? undefined : jsonObject(all);
}

/** The whole of inputs or outputs in one attribute. */
function whole(name: 'input' | 'output', ...attributes: readonly string[]): Way {
  return (span) => {
    const value = span.takeFirst(attributes);
    return value === undefined ? undefined : jsonPayload(value, name);
  };
}

/** The same of a convention whose values are JSON whatever they are: a text comes in quotes. */
function wholeJson(name: 'input' | 'output', attribute: string): Way {
  return (span) => {
    const value = span.take(attribute);
    if (value === undefined || value === '') return undefined;
    const scalar = typeof value === 'string' ? jsonScalar(value) : undefined;
    return scalar === undefined ? jsonPayload(value, name) : jsonObject([[name, scalar]]);
  };
}

/** Messages of OpenInference, with the value that they were taken from. */
function openInference(name: 'input' | 'output'): Way {
  return (span) => {
    const list = span.takeList(`llm.${name}_messages`);
    const value = span.take(`${name}.value`);
    span.take(`${name}.mime_type`);
    if (list === undefined) return value === undefined ? undefined : jsonPayload(value, name);
    return objectOf(messages(list), member('value', value));
  };
}

/** Documents as the clients of LangChain spell them. */
function documents(span: TakenAttributes): string | undefined {
  const list = span.takeList('retrieval.documents') ?? span.takeList('reranker.output_documents');
  if (list === undefined) return undefined;
  const spelled = list.map((document) => {
    if (typeof document !== 'object' || document === null || Array.isArray(document))
      return JSON.stringify(document);
    return jsonObject(
      Object.entries(document).map(([part, value]) =>
        part === 'document.content' || part === 'content'
          ? ['page_content', JSON.stringify(value)]
          : [part, part === 'metadata' ? jsonOf(value).text : JSON.stringify(value)],
      ),
    );
  });
  const value = span.take('output.value');
  return objectOf([['documents', `[${spelled.join()}]`]], member('value', value));
}

const INPUTS: readonly Way[] = [
  whole('input', 'gen_ai.prompt'),
  (span) =>
    objectOf(
      member('messages', span.take('gen_ai.input.messages')),
      member('system_instructions', span.take('gen_ai.system_instructions')),
    ),
  (span) => objectOf(messages(span.takeList('gen_ai.prompt'))),
  openInference('input'),
  (span) => objectOf(member('documents', span.takeList('reranker.input_documents'))),
  wholeJson('input', 'traceloop.entity.input'),
  whole('input', 'gen_ai.tool.call.arguments'),
  (span) => objectOf(member('messages', span.take('ai.prompt.messages'))),
  whole('input', 'ai.prompt', 'ai.toolCall.args', 'ai.toolCall.input'),
  whole('input', 'prompt', 'request_data', 'tool_arguments'),
];

const OUTPUTS: readonly Way[] = [
  documents,
  whole('output', 'gen_ai.completion'),
  (span) => objectOf(member('messages', span.take('gen_ai.output.messages'))),
  (span) => objectOf(messages(span.takeList('gen_ai.completion'))),
  openInference('output'),
  (span) => objectOf(member('embeddings', span.takeList('embedding.embeddings'))),
  wholeJson('output', 'traceloop.entity.output'),
  whole('output', 'gen_ai.tool.call.result'),
  (span) => {
    const text = span.take('ai.response.text');
    const calls = span.take('ai.response.toolCalls');
    if (calls === undefined) return text === undefined ? undefined : jsonPayload(text, 'output');
    return objectOf(member('text', text), member('tool_calls', calls));
  },
  whole('output', 'ai.response.object', 'ai.toolCall.result', 'ai.toolCall.output'),
  whole('output', 'all_messages_events', 'pydantic_ai.all_messages', 'response_data'),
];

/** The first way that finds something. What others would find in the same span stays among its metadata. */
function firstOf(ways: readonly Way[], span: TakenAttributes): string | undefined {
  for (const way of ways) {
    const found = way(span);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Events of a conversation by what they bring. */
const INPUT_EVENTS = new Set(['gen_ai.system.message', 'gen_ai.user.message']);
const OUTPUT_EVENTS = new Set(['gen_ai.assistant.message', 'gen_ai.tool.message']);
const CHOICE = 'gen_ai.choice';
const CONTENT_PROMPT = 'gen_ai.content.prompt';
const CONTENT_COMPLETION = 'gen_ai.content.completion';
const DETAILS = 'gen_ai.client.inference.operation.details';

const CONVERSATION: ReadonlySet<string> = new Set([
  ...INPUT_EVENTS,
  ...OUTPUT_EVENTS,
  ...[CHOICE, CONTENT_PROMPT, CONTENT_COMPLETION, DETAILS],
]);

/** Whether an event is taken for inputs or outputs, instead of being kept as an event. */
export function isOfConversation(event: Pick<SpanEvent, 'name'>): boolean {
  return CONVERSATION.has(event.name);
}

function messageOf({ name, attributes }: SpanEvent): string {
  const body = attributes.get('gen_ai.event.content') ?? attributes.get('body');
  if (typeof body === 'string' && body !== '') return jsonOf(body).text;
  const members = [...attributes].filter(([key]) => key !== 'gen_ai.system' && key !== 'event.name');
  const nested = nestAttributes(members);
  const role = /^gen_ai\.(\w+)\.message$/.exec(name)?.[1];
  if (role === undefined || attributes.has('role')) return JSON.stringify(nested);
  return JSON.stringify({ role, ...(Array.isArray(nested) ? {} : (nested as object)) });
}

/** What the events of a span say of its inputs and outputs. */
function ofEvents(events: readonly SpanEvent[]): InputsAndOutputs {
  const [asked, answered, choices]: [string[], string[], string[]] = [[], [], []];
  let inputs: string | undefined;
  let outputs: string | undefined;
  for (const event of events) {
    const { name, attributes } = event;
    if (INPUT_EVENTS.has(name)) asked.push(messageOf(event));
    else if (OUTPUT_EVENTS.has(name)) answered.push(messageOf(event));
    else if (name === CHOICE) choices.push(messageOf(event));
    else if (name === CONTENT_PROMPT) inputs = payloadAt(attributes.get('gen_ai.prompt'), 'input');
    else if (name === CONTENT_COMPLETION) outputs = payloadAt(attributes.get('gen_ai.completion'), 'output');
    else if (name === DETAILS) {
      inputs = objectOf(member('messages', attributes.get('gen_ai.input.messages'))) ?? inputs;
      outputs = objectOf(member('messages', attributes.get('gen_ai.output.messages'))) ?? outputs;
    }
  }
  // where a span tells what it answered, the turns before are what it was asked
  if (choices.length > 0) asked.push(...answered.splice(0));
  return {
    inputs: inputs ?? listed([['messages', asked]]),
    outputs:
      outputs ??
      listed([
        ['messages', answered],
        ['choices', choices],
      ]),
  };
}

function payloadAt(value: AttributeValue | undefined, name: 'input' | 'output'): string | undefined {
  return value === undefined ? undefined : jsonPayload(value, name);
}

function listed(lists: readonly (readonly [name: string, items: readonly string[]])[]): string | undefined {
  return objectOf(
    lists.flatMap(([name, items]): Member[] => (items.length === 0 ? [] : [[name, `[${items.join()}]`]])),
  );
}

/** Logfire sends the events of a conversation in one attribute. */
function ofEventsAttribute(span: TakenAttributes): InputsAndOutputs {
  const value = span.look('events');
  const json = typeof value === 'string' ? asJson(value) : undefined;
  if (json?.kind !== 'array') return { inputs: undefined, outputs: undefined };
  span.take('events');
  const [asked, choices]: [string[], string[]] = [[], []];
  for (const event of parseJson(json.text) as readonly unknown[]) {
    const isChoice =
      typeof event === 'object' && event !== null && Reflect.get(event, 'event.name') === CHOICE;
    (isChoice ? choices : asked).push(JSON.stringify(event));
  }
  return { inputs: listed([['messages', asked]]), outputs: listed([['choices', choices]]) };
}

/** Inputs and outputs in whichever way the span has them. */
export function inputsAndOutputs(span: TakenAttributes, events: readonly SpanEvent[]): InputsAndOutputs {
  const conversation = ofEvents(events);
  const listedEvents = ofEventsAttribute(span);
  return {
    inputs: firstOf(INPUTS, span) ?? listedEvents.inputs ?? conversation.inputs,
    outputs: firstOf(OUTPUTS, span) ?? listedEvents.outputs ?? conversation.outputs,
  };
}
