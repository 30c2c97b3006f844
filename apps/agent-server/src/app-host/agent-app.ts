import type { AuthUser } from '../authorization/auth-user.js';
import { isJsonObject } from '#lib/json';
import { withoutTrailingSlashes } from '#lib/url';
import type { AppPath } from '../app-front/control.js';

/** Environment of the app beside a request. */
export interface AppEnvironment {
  /** The authenticated caller; undefined when the request was not authenticated before the app. */
  readonly user: AuthUser | undefined;
}

type Fetch = (request: Request, environment: AppEnvironment) => unknown;

/** An app with middleware around the requests that it leaves to others, as Hono's are. */
interface Router {
  readonly routes: readonly { readonly path: string }[];
  notFound(handler: (context: unknown) => Promise<Response>): unknown;
  getPath?: (request: Request) => unknown;
}

export interface AgentApp {
  /** Paths that may reach the app. Undefined: paths that the server has no route for. */
  readonly paths: readonly AppPath[] | undefined;
  answer: Fetch;
}

function isRouter(app: object): app is Router {
  const routes: unknown = Reflect.get(app, 'routes');
  return (
    typeof Reflect.get(app, 'notFound') === 'function' &&
    Array.isArray(routes) &&
    routes.every((route) => isJsonObject(route) && typeof route['path'] === 'string')
  );
}

/** `/books` of `/books/:id{[0-9]+}`, empty for a pattern that may match any path. */
function patternOf(path: string): AppPath {
  const [literal = ''] = path.split(/[:*{]/, 1);
  const whole = literal.startsWith('/') ? literal : `/${literal}`;
  return { path: withoutTrailingSlashes(whole), isWhole: literal === path };
}

/** Returns true for an app that routes by the path alone; others may use more, for example the host. */
function routesByPath(app: Router): boolean {
  const { getPath } = app;
  if (getPath === undefined) return true;
  try {
    return getPath.call(app, new Request('http://probe.invalid/a/b?c=d')) === '/a/b';
  } catch {
    return false;
  }
}

/**
 * App that a module exports as `http.app`: anything with a method `fetch`. One that routes (Hono) comes
 * before the server's own routes, with its middleware around those that it does not have itself; any other
 * gets the requests that the server has no route for.
 * @param passOn asks the server for a request that the app has no route for
 * @throws Error with a description of the export
 */
export function appOf(exported: unknown, passOn: (context: unknown) => Promise<Response>): AgentApp {
  const isObject = (typeof exported === 'object' && exported !== null) || typeof exported === 'function';
  const fetch: unknown = isObject ? Reflect.get(exported, 'fetch') : undefined;
  if (!isObject || typeof fetch !== 'function')
    throw new Error('the export has no method fetch; export a Hono app, or an object with fetch(request)');
  const answer: Fetch = (request, environment) => Reflect.apply(fetch, exported, [request, environment]);
  if (!isRouter(exported)) return { paths: undefined, answer };
  exported.notFound(passOn);
  const paths = exported.routes.map(({ path }) => patternOf(path));
  return { paths: routesByPath(exported) ? paths : [{ path: '', isWhole: false }], answer };
}
