import { parseGraphConfiguration } from '#lib/graph-configuration';
import { HttpSide, type HttpSideParts } from '../../apps/agent-server/src/http/http-side.js';
import { AGENT_REQUESTS } from './agent-requests.js';
import type { Named } from './rest-requests.js';

/** They answer whoever asks. */
const PUBLIC = ['GET /ok', 'GET /info', 'GET /openapi.json', 'GET /docs', 'GET /chat', 'GET /ui/:name/:file'];

/** They answer whoever has a key that there is nothing to answer. */
const BARREN = ['GET /mcp', 'DELETE /mcp'];

/** Routes as the server registers them; what they work with is not needed for that. */
const { http: settings } = parseGraphConfiguration('{"graphs": {"agent": "./agent.ts"}}');
export const REGISTERED_ROUTES: readonly string[] = new HttpSide({
  settings,
  a2a: {},
} as HttpSideParts).routes
  .filter((name) => !name.startsWith('HEAD '))
  .sort();

/** Answers that last as long as their client wants. */
export const LASTING = ['GET /threads/:thread_id/stream', 'POST /threads/:thread_id/stream/events'];

/** Answers only those who ask for an upgrade; `thread-socket.spec.ts` has its rows. */
export const SOCKET = 'GET /threads/:thread_id/stream/events';

/** In the order of the table: what reads comes first, so that attacks do not make what they look for. */
export const ATTACKED_ROUTES: readonly string[] = Object.keys(AGENT_REQUESTS);

/** Must be those that the server registers. */
export const LISTED_ROUTES: readonly string[] = [...ATTACKED_ROUTES, ...PUBLIC, ...BARREN].sort();

export interface AgentRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** What is sent to a route with these ids. */
export function agentRequests(name: string, of: Named): AgentRequest[] {
  const [method = '', pattern = ''] = name.split(' ');
  const { path: parameters, query, bodies } = AGENT_REQUESTS[name] ?? {};
  const values: Readonly<Record<string, string>> = { ...of.ids, ...parameters?.(of) };
  const path = pattern.replace(/:([a-z_]+)/g, (_, parameter: string) =>
    encodeURIComponent(values[parameter] ?? ''),
  );
  return (bodies?.(of, of) ?? [undefined]).map((body) => ({
    method,
    path: path + (typeof query === 'string' ? `?${query}` : ''),
    body,
  }));
}
