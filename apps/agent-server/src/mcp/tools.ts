import { isJsonObject, parseShort, valueAt, type JsonObject, type JsonSpan, type JsonWalk } from '#lib/json';
import { PublicError } from '#lib/errors';
import { UUID_PATTERN } from '#lib/resources';
import { answerText } from '../a2a/answer-text.js';
import { questionsOf } from '../a2a/graph-request.js';
import { type Assistants, systemAssistantId } from '../assistant/assistants.js';
import type { DescribedGraphs } from '../graph/graph-schemas.js';
import type { RunResult } from '../log/event-log.js';
import type { WireAssistant } from '../store/row/assistant-row.js';
import { searchAssistants } from '../store/statement/assistants.js';
import type { Scope } from '../store/scope.js';
import type { Sql } from '../store/sql.js';
import { CODE, McpError } from './rpc.js';

export interface ToolParts {
  readonly sql: Sql;
  readonly assistants: Assistants;
  /** Ids of the graphs of this revision. */
  readonly graphs: ReadonlySet<string>;
  readonly hosts: DescribedGraphs;
}

const PAGE = 100;
/** Form of a name that clients accept for a tool. */
const TOOL_NAME = /^[\w-]{1,64}$/;

/** A graph's own assistant is a tool by the graph's name, another one by its id. */
function nameOf({ assistant_id: id, graph_id: graphId }: WireAssistant): string {
  const isOfGraph = id === systemAssistantId(graphId);
  // a name in the form of an id would lead to the assistant with that id
  return isOfGraph && TOOL_NAME.test(graphId) && !UUID_PATTERN.test(graphId) ? graphId : id;
}

function inputSchemaOf(schema: unknown): JsonObject {
  return isJsonObject(schema) && schema['type'] === 'object' ? schema : { type: 'object' };
}

async function toolOf(
  assistant: WireAssistant,
  { graphs, hosts }: ToolParts,
): Promise<JsonObject | undefined> {
  const { graph_id: graphId, name } = assistant;
  if (!graphs.has(graphId)) return undefined; // a graph of another revision
  const schemas = await hosts.schemasOf(graphId);
  return {
    name: nameOf(assistant),
    title: name,
    description: assistant.description ?? hosts.descriptionOf(graphId) ?? `Calls the agent "${name}"`,
    inputSchema: inputSchemaOf(schemas.input_schema),
  };
}

function offsetOf(cursor: unknown): number {
  if (cursor === undefined || cursor === null) return 0;
  if (typeof cursor === 'string' && /^[1-9]\d{0,8}$/.test(cursor)) return Number(cursor);
  throw new McpError(CODE.invalidParams, 'cursor must be the nextCursor of an earlier page');
}

/** The answer to `tools/list`. @throws McpError for a cursor that no page has given */
export async function renderTools(scope: Scope, params: JsonObject, parts: ToolParts): Promise<JsonObject> {
  const offset = offsetOf(params['cursor']);
  const page = { limit: PAGE, offset, sortBy: 'created_at', isAscending: true } as const;
  const found = await searchAssistants(scope, parts.sql, { findsSystem: true }, page);
  const tools: JsonObject[] = [];
  for (const assistant of found) {
    const tool = await toolOf(assistant, parts);
    if (tool) tools.push(tool);
  }
  return { tools, ...(found.length === PAGE ? { nextCursor: String(offset + PAGE) } : {}) };
}

/** Assistant and input of a call, by the names that a run has for them. */
export interface ToolCall {
  readonly assistant_id: string;
  readonly input: JsonObject;
}

/** @throws McpError for a name that is not a string, or arguments that are not an object */
export function parseToolCall({ name, arguments: input = {} }: JsonObject): ToolCall {
  if (typeof name !== 'string') throw new McpError(CODE.invalidParams, 'name must be a text');
  if (!isJsonObject(input)) throw new McpError(CODE.invalidParams, 'arguments must be an object');
  return { assistant_id: name, input };
}

/**
 * The id of the assistant that a tool calls.
 * @throws McpError for a tool that does not exist
 */
export async function findTool(
  scopeFor: (assistantId: string) => Promise<Scope>,
  name: string,
  { assistants, graphs }: Pick<ToolParts, 'assistants' | 'graphs'>,
): Promise<string> {
  const assistant = await assistants.findForRun(name, scopeFor);
  if (!assistant || !graphs.has(assistant.graph_id))
    throw new McpError(CODE.invalidParams, `Unknown tool: ${name.slice(0, 100)}`);
  return assistant.assistant_id;
}

/** Limit above which results are not repeated as text. */
const MAX_REPEATED_CHARS = 1024 * 1024;

function textContent(text: string): string {
  return `"content":[{"type":"text","text":${JSON.stringify(text)}}]`;
}

function failed(text: string): string {
  return `{${textContent(text)},"isError":true}`;
}

/** Parts of a result beside its values. */
interface Told {
  readonly error: JsonSpan | undefined;
  readonly questions: JsonSpan | undefined;
}

function* toldIn(body: string): JsonWalk<Told> {
  return {
    error: yield* valueAt(body, ['__error__']),
    questions: yield* valueAt(body, ['__interrupt__']),
  };
}

/** Undefined for a text that is too long to be parsed for a sentence. */
function shortValue(body: string, { start, end }: JsonSpan): unknown {
  return end - start > MAX_REPEATED_CHARS
    ? undefined
    : parseShort(body.slice(start, end), MAX_REPEATED_CHARS);
}

/**
 * The answer to `tools/call` as JSON text: the result of the run, as its graph wrote it.
 * @throws PublicError `too_large`
 */
export function* renderToolResult({ body }: RunResult): JsonWalk<string> {
  const { error, questions } = yield* toldIn(body);
  const thrown = error && shortValue(body, error);
  if (isJsonObject(thrown)) return failed(`${String(thrown['error'])}: ${String(thrown['message'])}`);
  if (questions) {
    const asked = questionsOf({ run: shortValue(body, questions) }).map(({ value }) => value);
    return failed(
      `The agent asks for input, which a tool cannot give: ${JSON.stringify(asked)}; run it on a thread instead`,
    );
  }
  const isObject = body.startsWith('{');
  const structured = isObject ? `,"structuredContent":${body}` : '';
  return `{${textContent(yield* saidIn(body, isObject))}${structured},"isError":false}`;
}

/** @throws PublicError `too_large` */
function* saidIn(body: string, isStructured: boolean): JsonWalk<string> {
  try {
    const { answer } = yield* answerText(body, undefined);
    return answer?.text ? answer.text : wholeText(body, isStructured);
  } catch (error) {
    if (isStructured && error instanceof PublicError && error.code === 'too_large')
      return wholeText(body, isStructured);
    throw error;
  }
}

function wholeText(body: string, isStructured: boolean): string {
  if (!isStructured || body.length <= MAX_REPEATED_CHARS) return body;
  return `The result has ${body.length} characters; it stands in structuredContent`;
}

/** Error that refused the run, for the model to read, as JSON text. */
export function renderRefusal(error: PublicError): string {
  return failed(error.message);
}
