import type { FastifyRequest } from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import type { HeaderChoice } from '#lib/graph-configuration';
import type { JsonObject } from '#lib/json';

declare module 'fastify' {
  interface FastifyInstance {
    /** True when graphs see this header of requests. */
    readonly passesHeader: (name: string) => boolean;
  }
}

/**
 * Headers that carry credentials: they reach graphs, rows, traces and logs only when the agent names them.
 */
const PRIVATE = new Set([
  'x-api-key',
  'x-tenant-id',
  'x-service-key',
  'x-auth-scheme',
  'x-forwarded-authorization',
  'authorization',
  'proxy-authorization',
  'cookie',
]);

/**
 * Names that only the server sets. A header may have any name, but requests must not set the names in
 * `configurable` for the caller, the start of a run or the library's own workings.
 */
const INTERNAL = /^(x-agentplane-|__|checkpoint_|langgraph_|graph_auth_)/;

function patternOf(text: string): RegExp {
  const escaped = text.split('*').map((part) => part.replace(/[.+^$|]/g, '\\$&'));
  return new RegExp(`^${escaped.join('.*')}$`);
}

/**
 * Chooses headers by their name in lower case: exclusions come first, then inclusions; without a list of
 * inclusions `isUsual` decides. `*` never matches a header with credentials: these are named in full.
 */
export function headerChooser(
  { includes, excludes }: HeaderChoice,
  isUsual: (name: string) => boolean,
): (name: string) => boolean {
  const excluded = excludes.map(patternOf);
  const named = new Set(includes);
  const included = includes?.map(patternOf);
  return (name) => {
    if (INTERNAL.test(name) || excluded.some((pattern) => pattern.test(name))) return false;
    if (PRIVATE.has(name)) return named.has(name);
    return included ? included.some((pattern) => pattern.test(name)) : isUsual(name);
  };
}

/** Headers that graphs see by default: those that begin with `x-`, and the user agent. */
export function isUsualHeader(name: string): boolean {
  return name.startsWith('x-') || name === 'user-agent';
}

/** Chosen headers of a request; undefined when there are none. */
export function chosenHeaders(
  headers: IncomingHttpHeaders,
  isChosen: (name: string) => boolean,
): JsonObject | undefined {
  const names = Object.keys(headers).filter(isChosen);
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, headers[name]]));
}

/**
 * Fields that a request adds to `configurable`: the headers that the agent chose, and the caller, by
 * LangGraph's names and by the product's (`graph_auth_user`).
 */
export function callerFields({ headers, caller, server }: FastifyRequest): JsonObject {
  const fields: Record<string, unknown> = { ...chosenHeaders(headers, server.passesHeader) };
  if (caller) {
    fields['langgraph_auth_user'] = caller;
    fields['graph_auth_user'] = caller;
    fields['langgraph_auth_user_id'] = caller.identity;
    fields['langgraph_auth_permissions'] = caller.permissions;
  }
  return fields;
}
