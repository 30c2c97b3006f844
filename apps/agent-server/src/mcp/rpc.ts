import type { IncomingHttpHeaders } from 'node:http';
import { isJsonObject, type JsonObject } from '#lib/json';

/** Revisions with `initialize` that this server speaks, newest first. */
const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

function isKnownVersion(version: string): boolean {
  return VERSIONS.some((known) => known === version);
}

function serverInfo(version: string): JsonObject {
  return { name: 'agentplane-agent-server', version };
}

/** Differences between the revisions on the wire; tools and calls are the same. */
export interface Revision {
  /** The result of a method that needs nothing of the agent; undefined for other methods. */
  readonly answer: (method: string, params: JsonObject, serverVersion: string) => JsonObject | undefined;
  readonly renderList: (result: JsonObject, serverVersion: string) => JsonObject;
  /** The same for a result that is JSON text already. */
  readonly renderCall: (result: string, serverVersion: string) => string;
  /** The result of a call that became a task; undefined in revisions without tasks. */
  readonly renderCreated?: (task: JsonObject, serverVersion: string) => JsonObject;
  /** HTTP status for methods that do not exist. */
  readonly unknownStatus: number;
}

/**
 * The answer to `initialize`: the client's revision when it is known, else the newest, which the client may
 * refuse.
 */
function renderInitialized({ protocolVersion: wanted }: JsonObject, serverVersion: string): JsonObject {
  return {
    protocolVersion: typeof wanted === 'string' && isKnownVersion(wanted) ? wanted : VERSIONS[0],
    capabilities: { tools: { listChanged: false } },
    serverInfo: serverInfo(serverVersion),
  };
}

/** Revisions that begin with `initialize`. */
export const INITIALIZED_REVISION: Revision = {
  answer: (method, params, serverVersion) => {
    if (method === 'initialize') return renderInitialized(params, serverVersion);
    return method === 'ping' ? {} : undefined;
  },
  renderList: (result) => result,
  renderCall: (result) => result,
  unknownStatus: 200,
};

/** An error of JSON-RPC, as the client of the Model Context Protocol sees it. */
export class McpError extends Error {
  override readonly name = 'McpError';

  constructor(
    readonly code: number,
    message: string,
    readonly data?: JsonObject,
    /** HTTP status, where it is not that of the code. */
    readonly status?: number,
  ) {
    super(message);
  }
}

export const CODE = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

export type McpId = string | number | null;

export interface McpMessage {
  /** Undefined for notifications and answers, which get none. */
  readonly id: McpId | undefined;
  /** Undefined for an answer to a request that this server never makes. */
  readonly method: string | undefined;
  readonly params: JsonObject;
}

/** A call keeps its id as long as it waits. */
const MAX_ID_CHARS = 1_024;

function isId(id: unknown): id is string | number {
  return typeof id === 'string' ? id.length <= MAX_ID_CHARS : Number.isSafeInteger(id);
}

/**
 * One JSON-RPC message of a body.
 * @throws McpError
 */
export function parseMessage(body: unknown): McpMessage {
  const invalid = (found: string): McpError => new McpError(CODE.invalidRequest, `Invalid request: ${found}`);
  if (Array.isArray(body)) throw invalid('a batch is not supported; send one message');
  if (!isJsonObject(body)) throw invalid('the body must be a JSON object');
  const { jsonrpc, id, method, params = {} } = body;
  if (jsonrpc !== '2.0') throw invalid('jsonrpc must be "2.0"');
  if (id !== undefined && !isId(id))
    throw invalid(`id must be a text of at most ${MAX_ID_CHARS} characters or an integer`);
  if (method === undefined && ('result' in body || 'error' in body))
    return { id: undefined, method: undefined, params: {} };
  if (typeof method !== 'string') throw invalid('method must be a text');
  if (!isJsonObject(params)) throw new McpError(CODE.invalidParams, 'params must be an object');
  return { id, method, params };
}

/** The id of a body, as far as one can be made out. */
export function mcpIdOf(body: unknown): McpId {
  const id = isJsonObject(body) ? body['id'] : null;
  return isId(id) ? id : null;
}

export function mcpResult(id: McpId, result: JsonObject): JsonObject {
  return { jsonrpc: '2.0', id, result };
}

/** The same of a result that is JSON text already. */
export function mcpResultText(id: McpId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
}

export function mcpError(id: McpId, { code, message, data }: McpError): JsonObject {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data ? { data } : {}) } };
}

/** The revision without `initialize` and sessions: each request names its version and what its client can. */
const STATELESS = '2026-07-28';

/** All revisions that this server speaks, newest first. */
const SUPPORTED = [STATELESS, ...VERSIONS];

const META = 'io.modelcontextprotocol/';

/** The extension by which calls of tools become tasks. */
const TASKS = `${META}tasks`;

/** Time for which clients may keep a list, as long as a card of A2A. */
const LIST_TTL_MS = 60_000;

function metaOf({ params }: McpMessage): JsonObject {
  const { _meta: meta } = params;
  return isJsonObject(meta) ? meta : {};
}

/**
 * Returns true for a request of the stateless revision, whose headers have been checked.
 * @throws McpError for a revision that is not spoken, and for headers that contradict the body
 */
export function isStateless(message: McpMessage, headers: IncomingHttpHeaders): boolean {
  const header = headers['mcp-protocol-version'];
  const claimed = metaOf(message)[`${META}protocolVersion`];
  const isOlder = typeof header !== 'string' || VERSIONS.some((known) => known === header);
  if (claimed === undefined && isOlder) return false;
  if (claimed === undefined && header !== STATELESS) throw unsupported(header);
  if (message.id !== undefined) requireEnvelope(message, headers);
  return true;
}

function requireEnvelope(message: McpMessage, headers: IncomingHttpHeaders): void {
  const meta = metaOf(message);
  const version = meta[`${META}protocolVersion`];
  if (typeof version !== 'string') throw missing('protocolVersion');
  if (!isJsonObject(meta[`${META}clientCapabilities`])) throw missing('clientCapabilities');
  requireHeader(headers, 'MCP-Protocol-Version', version);
  if (version !== STATELESS) throw unsupported(version);
  requireHeader(headers, 'Mcp-Method', message.method ?? '');
  const { name, taskId } = message.params;
  if (message.method === 'tools/call' && typeof name === 'string') requireHeader(headers, 'Mcp-Name', name);
  if (isOfTasks(message.method) && typeof taskId === 'string') requireHeader(headers, 'Mcp-Name', taskId);
}

/** Returns true for a method of the extension for tasks. */
export function isOfTasks(method: string | undefined): boolean {
  return method === 'tasks/get' || method === 'tasks/update' || method === 'tasks/cancel';
}

/** Returns true for a client that takes tasks in place of results. */
export function declaresTasks(message: McpMessage): boolean {
  const { [`${META}clientCapabilities`]: capabilities } = metaOf(message);
  const extensions = isJsonObject(capabilities) ? capabilities['extensions'] : undefined;
  return isJsonObject(extensions) && isJsonObject(extensions[TASKS]);
}

/** @throws McpError for a client that does not take tasks */
export function requireTasks(message: McpMessage): void {
  if (declaresTasks(message)) return;
  const data = { requiredCapabilities: { extensions: { [TASKS]: {} } } };
  throw new McpError(CODE.missingCapability, `Missing required client capability ${TASKS}`, data, 400);
}

function missing(name: string): McpError {
  return new McpError(CODE.invalidParams, `params._meta must have "${META}${name}"`, undefined, 400);
}

function unsupported(requested: unknown): McpError {
  const shown = String(requested).slice(0, 40);
  const data = { supported: SUPPORTED, requested: shown };
  return new McpError(CODE.unsupportedVersion, `MCP-Protocol-Version "${shown}" is not supported`, data, 400);
}

/** Headers are what proxies route by, so they must say what the body says. */
function requireHeader(headers: IncomingHttpHeaders, name: string, expected: string): void {
  const given = headers[name.toLowerCase()];
  if (typeof given === 'string' && decoded(given.trim()) === expected) return;
  const found = given === undefined ? 'is missing' : 'differs from the body';
  throw new McpError(CODE.headerMismatch, `Header ${name} ${found}`, undefined, 400);
}

/** Texts that a header cannot hold are sent as `=?base64?…?=`. */
function decoded(value: string): string {
  const [, base64] = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value) ?? [];
  return base64 === undefined ? value : Buffer.from(base64, 'base64').toString();
}

/** Members of every result, with their values. */
function headOf(serverVersion: string): JsonObject {
  return { resultType: 'complete', _meta: { [`${META}serverInfo`]: serverInfo(serverVersion) } };
}

/** Lists are kept for their own caller alone: an agent's handlers decide who sees what. */
const KEPT = { ttlMs: LIST_TTL_MS, cacheScope: 'private' };

/** Revision 2026-07-28. */
export const STATELESS_REVISION: Revision = {
  answer: (method, _params, serverVersion) =>
    method === 'server/discover'
      ? {
          ...headOf(serverVersion),
          ...KEPT,
          supportedVersions: SUPPORTED,
          capabilities: { tools: {}, extensions: { [TASKS]: {} } },
        }
      : undefined,
  renderList: (result, serverVersion) => ({ ...headOf(serverVersion), ...KEPT, ...result }),
  renderCall: (result, serverVersion) => {
    const head = JSON.stringify(headOf(serverVersion));
    return result === '{}' ? head : `${head.slice(0, -1)},${result.slice(1)}`;
  },
  renderCreated: (task, serverVersion) => ({ ...headOf(serverVersion), resultType: 'task', ...task }),
  unknownStatus: 404,
};
