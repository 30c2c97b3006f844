import type { IncomingHttpHeaders } from 'node:http';
import { isJsonObject, type JsonObject } from '#lib/json';
import { CODE, McpError, type McpMessage, type Revision, serverInfo, VERSIONS } from './rpc.js';

/** The revision without `initialize` and sessions: each request names its version and what its client can. */
const STATELESS = '2026-07-28';

/** All revisions that this server speaks, newest first. */
const SUPPORTED = [STATELESS, ...VERSIONS];

const META = 'io.modelcontextprotocol/';

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
  const { name } = message.params;
  if (message.method === 'tools/call' && typeof name === 'string') requireHeader(headers, 'Mcp-Name', name);
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
      ? { ...headOf(serverVersion), ...KEPT, supportedVersions: SUPPORTED, capabilities: { tools: {} } }
      : undefined,
  renderList: (result, serverVersion) => ({ ...headOf(serverVersion), ...KEPT, ...result }),
  renderCall: (result, serverVersion) =>
    `${JSON.stringify(headOf(serverVersion)).slice(0, -1)},${result.slice(1)}`,
  unknownStatus: 404,
};
