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
  ui: /^\w+ \/ui\//,
};

/** The group that switches a route off; undefined while it is served. */
export function disabledBy(name: string, disabled: ReadonlySet<RouteGroup>): RouteGroup | undefined {
  return [...disabled].find((group) => NAMES[group].test(name));
}
