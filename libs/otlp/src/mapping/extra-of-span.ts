import { isJsonObject, type JsonWalk, parseJson } from '#lib/json';
import type { AttributeValue, Attributes, Origin, Span } from '../span.js';
import { type JsonMember, jsonMembers, jsonObject, jsonOf } from './json-text.js';
import type { TakenAttributes } from './taken-attributes.js';
import { usageOf } from './usage.js';

const KINDS = ['', '', 'server', 'client', 'producer', 'consumer'];

/**
 * Maximum size of the JSON that a resource adds to each of its spans: a few bytes of the request for any
 * number of them.
 */
const MAX_RESOURCE_BYTES = 8_192;

/** Names under which the metadata of applications comes. */
const METADATA = [
  'langsmith.metadata.',
  'traceloop.association.properties.',
  'ai.telemetry.metadata.',
  'ai.settings.context.',
];

/** Parameters of the call of a model, by what their last name becomes. */
const REQUEST = 'gen_ai.request.';
const RENAMED: ReadonlyMap<string, string> = new Map([['stop_sequences', 'stop']]);
const PARAMETERS: Readonly<Record<string, string>> = {
  'llm.presence_penalty': 'presence_penalty',
  'llm.frequency_penalty': 'frequency_penalty',
  'gen_ai.tool.definitions': 'tools',
  tools: 'tools',
  'gen_ai.tool.name': 'tool_name',
};

type Members = Map<string, string>;

function add(members: Members, name: string, value: AttributeValue): void {
  members.set(name, JSON.stringify(value));
}

/** Attributes of a resource as members of metadata. */
interface ResourceMembers {
  readonly members: readonly JsonMember[];
  /** Attributes that were too many. */
  readonly leftOut: number;
}

/**
 * Members of resources whose spans are being read: a large one is converted once, not once for each of them.
 */
const known = new WeakMap<Attributes, ResourceMembers>();

export function resourceMembers(resource: Attributes): ResourceMembers {
  const before = known.get(resource);
  if (before) return before;
  const members: JsonMember[] = [];
  let bytes = 0;
  for (const [name, value] of resource) {
    const json = JSON.stringify(value);
    const size = Buffer.byteLength(JSON.stringify(name)) + Buffer.byteLength(json) + 2;
    if (bytes + size > MAX_RESOURCE_BYTES) continue;
    bytes += size;
    members.push([name, json]);
  }
  const made = { members, leftOut: resource.size - members.length };
  known.set(resource, made);
  return made;
}

/** JSON of a tool that was offered: OpenInference sends the text of its schema, below two names. */
function* toolText(value: AttributeValue): JsonWalk<string> {
  const tool = isJsonObject(value) ? value['tool'] : undefined;
  const schema = isJsonObject(tool) ? tool['json_schema'] : undefined;
  return typeof schema === 'string' ? (yield* jsonOf(schema)).text : JSON.stringify(value);
}

/** Members of an attribute that is an object, or the text of one; `name` alone for another value. */
function* membersOf(name: string, whole: AttributeValue | undefined): JsonWalk<readonly JsonMember[]> {
  if (whole === undefined) return [];
  if (typeof whole === 'string') {
    const members = yield* jsonMembers(whole);
    if (members === undefined) return [[name, JSON.stringify(whole)]];
    return 'kind' in members ? [[name, members.text]] : members;
  }
  if (!isJsonObject(whole)) return [[name, JSON.stringify(whole)]];
  return Object.entries(whole).map(([member, value]) => [member, JSON.stringify(value)] as const);
}

function* invocationParameters(span: TakenAttributes): JsonWalk<Members> {
  const whole = span.takeFirst(['llm.invocation_parameters', 'embedding.invocation_parameters']);
  const parameters: Members = new Map(yield* membersOf('invocation_parameters', whole));
  for (const [name, value] of span.takeBelow(REQUEST)) add(parameters, RENAMED.get(name) ?? name, value);
  for (const [attribute, name] of Object.entries(PARAMETERS)) {
    const value = span.take(attribute);
    if (value !== undefined) parameters.set(name, (yield* jsonOf(value)).text);
  }
  for (const [list, name] of [
    ['llm.tools', 'tools'],
    ['llm.request.functions', 'functions'],
  ] as const) {
    const values = span.takeList(list);
    if (!values) continue;
    const tools: string[] = [];
    for (const tool of values) tools.push(yield* toolText(tool));
    parameters.set(name, `[${tools.join()}]`);
  }
  // the model that answered is also in the metadata
  const model =
    span.takeFirst(['llm.model_name', 'embedding.model_name']) ??
    span.look('gen_ai.response.model') ??
    span.look('ai.model.id');
  if (!parameters.has('model') && typeof model === 'string') add(parameters, 'model', model);
  return parameters;
}

/**
 * Metadata of the run: those that the application set, those of the resource and the scope, and every
 * attribute that is nothing else.
 */
function* metadataOf(
  span: TakenAttributes,
  model: string | undefined,
  resource: Iterable<JsonMember>,
): JsonWalk<Members> {
  const metadata: Members = new Map(resource);
  const given: Members = new Map(yield* membersOf('metadata', span.take('metadata')));
  for (const prefix of METADATA)
    for (const [name, value] of span.takeBelow(prefix)) given.set(name, (yield* jsonOf(value)).text);
  const provider = span.takeText(
    'gen_ai.provider.name',
    'gen_ai.system',
    'llm.provider',
    'llm.system',
    'ai.model.provider',
  );
  if (provider !== undefined) add(metadata, 'ls_provider', provider);
  if (model !== undefined) add(metadata, 'ls_model_name', model);
  for (const [name, attributes] of NAMED) {
    const value = span.takeText(...attributes);
    if (value !== undefined) add(metadata, name, value);
  }
  const usage = yield* usageOf(span);
  if (usage !== undefined) metadata.set('usage_metadata', usage);
  for (const [name, value] of span.left) metadata.set(name, (yield* jsonOf(value)).text);
  for (const [name, value] of given) metadata.set(name, value);
  return metadata;
}

/** Members of metadata for which conventions have other names: threads, users, calls of tools. */
const NAMED = [
  ['session_id', ['session.id', 'gcp.vertex.agent.session_id']],
  ['conversation_id', ['gen_ai.conversation.id']],
  ['user_id', ['user.id', 'enduser.id']],
  ['tool_call_id', ['gen_ai.tool.call.id', 'ai.toolCall.id', 'tool_call.id']],
] as const;

/** Origin of the span, for readers who go back to it. */
/** Maximum number of characters of the JSON of a model's name; a longer value is ignored. */
const MAX_MODEL_CHARS = 65_536;
/** Characters of the name of a scope, or of its version. */
const MAX_SCOPE_NAME = 200;

function shortName(name: string): string {
  return name.slice(0, MAX_SCOPE_NAME).toWellFormed();
}

function originOf({ kind, links, traceState }: Span, { scope }: Origin): Members {
  const origin: Members = new Map();
  // every span of the scope repeats it
  if (scope.name !== '')
    add(origin, 'scope', { name: shortName(scope.name), version: shortName(scope.version) });
  if (KINDS[kind]) add(origin, 'kind', KINDS[kind]);
  if (traceState !== '') add(origin, 'trace_state', traceState);
  if (links.length > 0)
    origin.set(
      'links',
      JSON.stringify(
        links.map(({ traceId, spanId, attributes }) => ({
          trace_id: traceId,
          span_id: spanId,
          ...(attributes.size > 0 ? { attributes: Object.fromEntries(attributes) } : {}),
        })),
      ),
    );
  return origin;
}

/**
 * `extra` of a span's run. It is made last: attributes that were not taken before become metadata.
 * @param resource result of `resourceMembers` for its resource
 */
export function* extraOfSpan(
  span: Span,
  origin: Origin,
  taken: TakenAttributes,
  resource: ResourceMembers,
): JsonWalk<string> {
  const parameters = yield* invocationParameters(taken);
  const named = parameters.get('model');
  const model = named !== undefined && named.length <= MAX_MODEL_CHARS ? parseJson(named) : undefined;
  const metadata = yield* metadataOf(taken, typeof model === 'string' ? model : undefined, resource.members);
  const members: [string, string][] = [['metadata', jsonObject(metadata)]];
  if (parameters.size > 0) members.push(['invocation_params', jsonObject(parameters)]);
  const made = originOf(span, origin);
  if (resource.leftOut > 0) add(made, 'resource_attributes_left_out', resource.leftOut);
  if (made.size > 0) members.push(['otel', jsonObject(made)]);
  return jsonObject(members);
}
