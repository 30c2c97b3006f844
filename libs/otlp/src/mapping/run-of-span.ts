import type { JsonWalk } from '#lib/json';
import { isUuid } from '#lib/resources';
import { formatInstant } from '#lib/time';
import type { ReceivedSpan, Span, SpanEvent, SpanPlace } from '../span.js';
import { extraOfSpan, resourceMembers } from './extra-of-span.js';
import { inputsAndOutputs, isOfConversation } from './inputs-and-outputs.js';
import { TakenAttributes } from './taken-attributes.js';

const RUN_TYPES = new Set(['llm', 'chain', 'tool', 'retriever', 'embedding', 'prompt', 'parser']);

/** Names of the kinds of spans in each convention. */
const OPENINFERENCE: Readonly<Record<string, string>> = {
  llm: 'llm',
  tool: 'tool',
  retriever: 'retriever',
  reranker: 'retriever',
  embedding: 'embedding',
  prompt: 'prompt',
};
const GEN_AI: Readonly<Record<string, string>> = {
  chat: 'llm',
  completion: 'llm',
  text_completion: 'llm',
  generate_content: 'llm',
  embedding: 'embedding',
  embeddings: 'embedding',
  execute_tool: 'tool',
  retrieval: 'retriever',
  retrieve: 'retriever',
};
const AI_SDK: Readonly<Record<string, string>> = {
  'ai.generateText.doGenerate': 'llm',
  'ai.streamText.doStream': 'llm',
  'ai.generateObject.doGenerate': 'llm',
  'ai.streamObject.doStream': 'llm',
  'ai.embed.doEmbed': 'embedding',
  'ai.embedMany.doEmbed': 'embedding',
  'ai.toolCall': 'tool',
};

function lookUp(table: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** The type of a span's run: the span's own, else that of its convention, `chain` for everything else. */
function runTypeOf(span: TakenAttributes): string {
  const own = span.takeText('langsmith.span.kind')?.toLowerCase();
  const openInference = span.takeText('openinference.span.kind')?.toLowerCase();
  const traceloop = span.takeText('traceloop.span.kind')?.toLowerCase();
  const request = span.takeText('traceloop.llm.request.type', 'llm.request.type')?.toLowerCase();
  // the name of the operation stays in the metadata, since it is more specific than the type
  const operation = span.look('gen_ai.operation.name');
  const aiSdk = span.look('ai.operationId');
  if (own !== undefined && RUN_TYPES.has(own)) return own;
  if (span.look('llm.prompt_template.variables') !== undefined && openInference !== 'llm') return 'prompt';
  if (openInference !== undefined) return lookUp(OPENINFERENCE, openInference) ?? 'chain';
  if (traceloop !== undefined) return traceloop === 'tool' ? 'tool' : 'chain';
  if (typeof operation === 'string') {
    const known = lookUp(GEN_AI, operation.toLowerCase());
    if (known !== undefined) return known;
    return 'chain';
  }
  if (request !== undefined) return request === 'embedding' ? 'embedding' : 'llm';
  if (typeof aiSdk === 'string') return lookUp(AI_SDK, aiSdk) ?? 'chain';
  if (span.look('gen_ai.tool.name') !== undefined) return 'tool';
  return span.look('gen_ai.request.model') !== undefined ? 'llm' : 'chain';
}

/** The create of a run, as the trace store takes it. */
export interface SpanOperation {
  readonly run: Buffer;
  readonly fields: Readonly<Partial<Record<'inputs' | 'outputs' | 'extra' | 'events' | 'error', Buffer>>>;
  readonly place: SpanPlace;
}

/** Reason why a span has no run. */
export interface RefusedSpan {
  readonly place: SpanPlace;
  readonly member: string;
  readonly message: string;
}

const TRACE_ID = /^(?!0{32}$)[0-9a-f]{32}$/;
const SPAN_ID = /^(?!0{16}$)[0-9a-f]{16}$/;

function uuidOf(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** The id of a span's run: the id of the span behind eight bytes of zeros, as clients derive it without asking. */
function runIdOf(spanId: string): string {
  return uuidOf(spanId.padStart(32, '0'));
}

const OK = 1;
const ERROR = 2;

/** Events that mean the first piece of an answer, whatever they are called. */
const FIRST_TOKEN = new Set([
  'ai.stream.firstChunk',
  'gen_ai.content.completion.chunk',
  'llm.content.completion.chunk',
  'First Token Stream Event',
]);

function timeOf(nanos: bigint): string | undefined {
  return nanos === 0n ? undefined : formatInstant(nanos / 1_000n);
}

/** Seconds and milliseconds from the start of a call until its first piece, in nanoseconds. */
const UNTIL_FIRST: Readonly<Record<string, number>> = {
  'gen_ai.response.time_to_first_chunk': 1e9,
  'gen_ai.client.operation.time_to_first_chunk': 1e9,
  'ai.response.msToFirstChunk': 1e6,
};
const MAX_UNTIL_FIRST_NS = 86_400e9;

/** The event that a span states as an attribute, if none of its events has it. */
function firstToken({ events, startTimeUnixNano }: Span, taken: TakenAttributes): readonly SpanEvent[] {
  if (startTimeUnixNano === 0n || events.some(({ name }) => FIRST_TOKEN.has(name))) return [];
  for (const [name, unit] of Object.entries(UNTIL_FIRST)) {
    const ns = Number(taken.look(name) ?? Number.NaN) * unit;
    if (!(ns >= 0 && ns <= MAX_UNTIL_FIRST_NS)) continue;
    const timeUnixNano = startTimeUnixNano + BigInt(Math.round(ns));
    return [{ name: 'new_token', timeUnixNano, attributes: new Map() }];
  }
  return [];
}

function eventsOf(span: Span, taken: TakenAttributes): string | undefined {
  const kept = [...firstToken(span, taken), ...span.events.filter((event) => !isOfConversation(event))];
  if (kept.length === 0) return undefined;
  return JSON.stringify(
    kept.map(({ name, timeUnixNano, attributes }) => ({
      name: FIRST_TOKEN.has(name) ? 'new_token' : name,
      time: timeOf(timeUnixNano),
      ...(attributes.size > 0 ? { kwargs: Object.fromEntries(attributes) } : {}),
    })),
  );
}

/** Undefined for a span that went well. */
function errorOf({ statusCode, statusMessage, events }: Span): string | undefined {
  if (statusCode === OK) return undefined;
  const exception = events.findLast(({ name }) => name === 'exception')?.attributes;
  if (!exception && statusCode !== ERROR) return undefined;
  const text = (name: string): string => {
    const value = exception?.get(name);
    return typeof value === 'string' ? value : '';
  };
  const message = text('exception.message') || statusMessage || text('exception.type') || 'error';
  const stack = text('exception.stacktrace');
  return stack === '' ? message : `${message}\n\n${stack}`;
}

const MAX_TAGS_CHARS = 65_536;

function tagsOf(taken: TakenAttributes): readonly string[] | undefined {
  const value = taken.takeFirst(['langsmith.span.tags', 'tag.tags']);
  if (Array.isArray(value)) return value.map((tag) => (typeof tag === 'string' ? tag : JSON.stringify(tag)));
  if (typeof value !== 'string') return undefined;
  // too long a text is for the store to refuse
  if (value.length > MAX_TAGS_CHARS) return [value];
  return value
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
}

/** Operations of agents, and those of the AI SDK that are not calls of models below another one. */
const AGENT = /^(?:invoke|create)_/;
const OUTER = /^ai\.\w+$/;

/** Names of the callee of a span: its tool or agent, or the function that calls the AI SDK. */
function calledNames(taken: TakenAttributes, runType: string): readonly string[] {
  if (runType === 'tool') return ['tool.name', 'ai.toolCall.name', 'gen_ai.tool.name'];
  if (OUTER.test(String(taken.look('ai.operationId')))) return ['ai.telemetry.functionId'];
  const isAgent = AGENT.test(String(taken.look('gen_ai.operation.name')));
  return isAgent ? ['gen_ai.agent.name', 'gen_ai.workflow.name', 'agent_name'] : [];
}

function nameOf(span: Span, taken: TakenAttributes, runType: string): string {
  const own = taken.takeText('langsmith.trace.name', 'traceloop.entity.name');
  const called = calledNames(taken, runType).map((name) => taken.look(name));
  if (runType === 'tool') taken.take('tool.name');
  const name = called.find((one) => typeof one === 'string' && one !== '') as string | undefined;
  return own ?? name ?? (span.name || 'span');
}

/** Project by id or name; undefined for that of the request. */
function projectOf(taken: TakenAttributes): object | undefined {
  const id = taken.look('langsmith.trace.session_id');
  const name = taken.takeText('langsmith.trace.session_name');
  // a session that is no project's id stays among the metadata
  if (isUuid(id)) return { session_id: taken.take('langsmith.trace.session_id') };
  return name === undefined ? undefined : { session_name: name };
}

/** Attributes of clients about the origin of a span, and those that a run has columns for. */
const REDUNDANT = ['langsmith.is_root', 'langsmith.traceable', 'langsmith.traceable_parent_otel_span_id'];

function placement(span: Span, taken: TakenAttributes): Readonly<Record<string, string | undefined>> {
  const { traceId, spanId, parentSpanId } = span;
  const id = taken.takeText('langsmith.span.id') ?? runIdOf(spanId);
  const trace = taken.takeText('langsmith.trace.id') ?? uuidOf(traceId);
  // the Python client begins a trace below a span that it never sends: the first half of the trace's id
  const isTop = parentSpanId === '' || parentSpanId === spanId || traceId.startsWith(parentSpanId);
  const hasParent = !isTop && SPAN_ID.test(parentSpanId);
  const parent =
    taken.takeText('langsmith.span.parent_id') ?? (hasParent ? runIdOf(parentSpanId) : undefined);
  const order = taken.takeText('langsmith.span.dotted_order');
  for (const name of REDUNDANT) taken.take(name);
  return { id, trace_id: trace, parent_run_id: parent, dotted_order: order };
}

/**
 * The run of a span. Texts of it may be megabytes long, and are looked at whether they are JSON.
 * @param project for spans that name none
 */
export function* runOfSpan(received: ReceivedSpan, project?: string): JsonWalk<SpanOperation | RefusedSpan> {
  const { span, resource, place } = received;
  if (!TRACE_ID.test(span.traceId))
    return { place, member: 'traceId', message: 'traceId should be 16 bytes, not all of them zero' };
  if (!SPAN_ID.test(span.spanId))
    return { place, member: 'spanId', message: 'spanId should be 8 bytes, not all of them zero' };
  const taken = new TakenAttributes(span.attributes);
  const runType = runTypeOf(taken);
  const error = errorOf(span);
  const run = {
    ...placement(span, taken),
    ...(projectOf(taken) ?? (project === undefined ? {} : { session_name: project })),
    name: nameOf(span, taken, runType),
    run_type: runType,
    start_time: timeOf(span.startTimeUnixNano),
    end_time: timeOf(span.endTimeUnixNano),
    ...(error === undefined ? {} : { status: 'error' }),
    reference_example_id: taken.takeText('langsmith.reference_example_id'),
    tags: tagsOf(taken),
  };
  const { inputs, outputs } = yield* inputsAndOutputs(taken, span.events);
  const fields = {
    inputs,
    outputs,
    events: eventsOf(span, taken),
    error: error === undefined ? undefined : JSON.stringify(error),
    extra: yield* extraOfSpan(span, received, taken, resourceMembers(resource)),
  };
  const given = Object.entries(fields).flatMap(([name, json]) =>
    json === undefined ? [] : [[name, Buffer.from(json)] as const],
  );
  return { run: Buffer.from(JSON.stringify(run)), fields: Object.fromEntries(given), place };
}
