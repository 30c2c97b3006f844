import type { AppSettings } from '#lib/graph-configuration';

/**
 * Pattern of plain paths. Paths that proxies, routers and addresses may read differently go to the app first.
 */
const PLAIN_PATH = /^(\/[\w~:@!$&'()*+,=-][\w.~:@!$&'()*+,=-]*)+\/?$|^\/$/;

/** `GET /ok` decides whether the server gets requests at all: it asks nothing of the agent. */
const PROBE = '/ok';

/** The beginning of the paths that a route of the app matches. */
export interface AppPath {
  /** Path without a slash at its end. */
  readonly path: string;
  /** True when nothing may follow. */
  readonly isWhole: boolean;
}

/** Result of the server's router for a request. */
export interface OwnRoute {
  readonly isFound: boolean;
  /** True when any client may call it. */
  readonly isOpen: boolean;
}

function isBelow(path: string, { path: one, isWhole }: AppPath): boolean {
  return isWhole ? path === one || path === `${one}/` : path.startsWith(one);
}

/**
 * Returns true when a request is for the app first.
 * @param paths paths that may reach the app; undefined: paths that the server has no route for
 * @param url path and query
 */
export function isForApp(
  paths: readonly AppPath[] | undefined,
  url: string,
  { isFound }: Pick<OwnRoute, 'isFound'>,
): boolean {
  const [path = ''] = url.split('?', 1);
  if (path === PROBE || !path.startsWith('/')) return false;
  if (paths === undefined) return !isFound;
  return !PLAIN_PATH.test(path) || paths.some((one) => isBelow(path, one));
}

/** Returns true when a request that is for the app first must be authenticated before. */
export function needsCaller(
  { authenticatesRoutes, isAuthFirst }: Pick<AppSettings, 'authenticatesRoutes' | 'isAuthFirst'>,
  { isFound, isOpen }: OwnRoute,
): boolean {
  return authenticatesRoutes || (isAuthFirst && isFound && !isOpen);
}
