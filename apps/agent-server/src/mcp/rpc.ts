import { isJsonObject, type JsonObject } from '#lib/json';

/** Revisions with `initialize` that this server speaks, newest first. */
export const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

function isKnownVersion(version: string): boolean {
  return VERSIONS.some((known) => known === version);
}

export function serverInfo(version: string): JsonObject {
  return { name: 'agentplane-agent-server', version };
}

/** Differences between the revisions on the wire; tools and calls are the same. */
export interface Revision {
  /** The result of a method that needs nothing of the agent; undefined for other methods. */
  readonly answer: (method: string, params: JsonObject, serverVersion: string) => JsonObject | undefined;
  readonly renderList: (result: JsonObject, serverVersion: string) => JsonObject;
  /** The same for a result that is JSON text already. */
  readonly renderCall: (result: string, serverVersion: string) => string;
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
