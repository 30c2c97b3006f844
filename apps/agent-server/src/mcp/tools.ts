import { isJsonObject, type JsonObject } from '#lib/json';
import type { PublicError } from '#lib/errors';
import { UUID_PATTERN } from '#lib/resources';
import { answerText } from '../a2a/answer-text.js';
import { questionsOf } from '../a2a/graph-request.js';
import type { Assistants } from '../assistant/assistants.js';
import type { DescribedGraphs } from '../graph/described-graphs.js';
import { systemAssistantId } from '../assistant/system-assistant-id.js';
import type { RunResult } from '../log/event-log.js';
import type { WireAssistant } from '../store/row/assistant-row.js';
import { searchAssistants } from '../store/assistant/search-assistants.js';
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
/** What clients take for the name of a tool. */
const TOOL_NAME = /^[\w-]{1,64}$/;

/** A graph's own assistant is a tool by the graph's name, another one by its id. */
function nameOf({ assistant_id: id, graph_id: graphId }: WireAssistant): string {
  const isOfGraph = id === systemAssistantId(graphId);
  // a name in the form of an id would lead to whoever has that id
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
  if (!graphs.has(graphId)) return undefined; // of another revision
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
  const found = await searchAssistants(scope, parts.sql, {}, page);
  const tools: JsonObject[] = [];
  for (const assistant of found) {
    const tool = await toolOf(assistant, parts);
    if (tool) tools.push(tool);
  }
  return { tools, ...(found.length === PAGE ? { nextCursor: String(offset + PAGE) } : {}) };
}

/** What is to be called with what, by the names that a run has for them. */
export interface ToolCall {
  readonly assistant_id: string;
  readonly input: JsonObject;
}

/** @throws McpError for a name that is no text, or arguments that are no object */
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

function failed(text: string): JsonObject {
  return { content: [{ type: 'text', text }], isError: true };
}

/** The answer to `tools/call`: what the run ended with. */
export function renderToolResult({ body }: RunResult): JsonObject {
  const values: unknown = JSON.parse(body);
  const error = isJsonObject(values) ? values['__error__'] : undefined;
  if (isJsonObject(error)) return failed(`${String(error['error'])}: ${String(error['message'])}`);
  if (isJsonObject(values) && '__interrupt__' in values) {
    const asked = questionsOf({ run: values['__interrupt__'] }).map(({ value }) => value);
    return failed(
      `The agent asks for input, which a tool cannot give: ${JSON.stringify(asked)}; run it on a thread instead`,
    );
  }
  const text = answerText(values, undefined) ?? JSON.stringify(values);
  return {
    content: [{ type: 'text', text }],
    ...(isJsonObject(values) ? { structuredContent: values } : {}),
    isError: false,
  };
}

/** What making the run refused, for the model to read. */
export function renderRefusal(error: PublicError): JsonObject {
  return failed(error.message);
}
