import type { FastifyRequest } from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import type { HeaderChoice } from '#lib/graph-configuration';
import type { JsonObject } from '#lib/json';

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether graphs see a header of requests. */
    readonly passesHeader: (name: string) => boolean;
  }
}

/** Headers that carry credentials: they reach graphs, rows, traces and logs only where the agent asks for them by name. */
const PRIVATE = new Set([
  ...['x-api-key', 'x-tenant-id', 'x-service-key', 'x-auth-scheme', 'x-forwarded-authorization'],
  ...['authorization', 'proxy-authorization', 'cookie'],
]);

/**
 * Of the server itself, whatever is asked for. A header may have any name: those of `configurable` that say who calls,
 * where a run begins or how the library works are not for requests to set.
 */
const INTERNAL = /^(x-agentplane-|__|checkpoint_|langgraph_|graph_auth_)/;

function patternOf(text: string): RegExp {
  const escaped = text.split('*').map((part) => part.replace(/[.+^$|]/g, '\\$&'));
  return new RegExp(`^${escaped.join('.*')}$`);
}

/**
 * Whether a header, by its name in lower case, is among those that an agent chose: what is excluded first, then what is
 * included, without a list of that what `isUsual` says. `*` stands for no header with credentials: they are named whole.
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

/** What graphs see of the headers of requests without any choice: those that begin with `x-`, and the user agent. */
export function isUsualHeader(name: string): boolean {
  return name.startsWith('x-') || name === 'user-agent';
}

/** The headers among these that are chosen; undefined where there is none. */
export function chosenHeaders(
  headers: IncomingHttpHeaders,
  isChosen: (name: string) => boolean,
): JsonObject | undefined {
  const names = Object.keys(headers).filter(isChosen);
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, headers[name]]));
}

/**
 * What a request adds to `configurable`: the headers that the agent chose, and the caller, by LangGraph's names and by
 * the product's (`graph_auth_user`).
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
