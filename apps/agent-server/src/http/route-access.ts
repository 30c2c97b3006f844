import type { RouteShorthandOptions } from 'fastify';
import type { RouteGroup } from '#lib/graph-configuration';

/** The routes of a group, by their names as in `GET /threads/:thread_id`. */
const NAMES: Readonly<Record<RouteGroup, RegExp>> = {
  assistants: /^\w+ \/assistants(\/|$)/,
  threads: /^\w+ \/threads(?!\/:thread_id\/(runs|commands|stream\/events)(\/|$))(\/|$)/,
  // the group includes crons, and commands that start runs
  runs: /^\w+ (\/runs|\/threads\/:thread_id\/(runs|commands|stream\/events))(\/|$)/,
  store: /^\w+ \/store\//,
  // `/ok` stays: it decides whether the server gets requests at all
  meta: /^\w+ \/(info|metrics|openapi\.json|docs)$/,
  a2a: /^\w+ \/(a2a\/|\.well-known\/agent-card)/,
  mcp: /^\w+ \/mcp$/,
  agui: /^\w+ \/ag-ui\//,
  ui: /^\w+ (\/ui\/|\/chat(\/|$))/,
};

/** The group that switches a route off; undefined while it is served. */
export function disabledBy(name: string, disabled: ReadonlySet<RouteGroup>): RouteGroup | undefined {
  return [...disabled].find((group) => NAMES[group].test(name));
}

/** Actions of a caller, by resource: the events of LangGraph's `Auth.on`. */
interface Actions {
  readonly threads: 'create' | 'read' | 'update' | 'delete' | 'search' | 'create_run';
  readonly assistants: 'create' | 'read' | 'update' | 'delete' | 'search';
  readonly crons: 'create' | 'read' | 'update' | 'delete' | 'search';
  readonly store: 'put' | 'get' | 'search' | 'list_namespaces' | 'delete';
}

/** `resource:action`, as in `threads:read`. */
export type Access = { [R in keyof Actions]: `${R}:${Actions[R]}` }[keyof Actions];

/**
 * Access that a route needs. `open` answers any client, without authentication; `any` answers every
 * authenticated caller, and asks for the scope of each thing that it does by `authorize`; `key` answers keys
 * of the platform alone, also when a handler of the agent authenticates.
 */
export type RouteAccess = Access | 'any' | 'key' | 'open';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Access of the route; a route without it is refused when it is registered. */
    readonly access?: RouteAccess;
    /** The setting of the agent that switches the route off. */
    disabledBy?: RouteGroup | undefined;
  }
}

/** The options of a route that does this: `app.get('/threads/:thread_id', access('threads:read'), handler)`. */
export function access(name: RouteAccess): RouteShorthandOptions {
  return { config: { access: name } };
}
