import { methodNotAllowed } from '#lib/kube-semantics';
import type { Discovery } from '../discovery/discovery.js';
import { parseAccept } from '../http/request-body.js';
import { json, type Reply, type RequestContext } from '../http/request-context.js';
import { type OpenApi, OPENAPI_V2 } from '../openapi/openapi.js';

/** Answer of `/version`: the release whose API this server speaks, so that kubectl finds no skew. */
const SERVER_VERSION = {
  major: '1',
  minor: '34',
  emulationMajor: '1',
  emulationMinor: '34',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '33',
  gitVersion: 'v1.34.4+agentplane',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: 'embedded',
  platform: `${process.platform}/${process.arch}`,
} as const;

export interface PlainPathParts {
  readonly discovery: Discovery;
  readonly openApi: OpenApi;
  /** `HOST:PORT` for clients that ask where the server is. */
  readonly address: () => string;
}

const HEALTH = new Set(['/healthz', '/readyz', '/livez']);

/** Everything that is no resource: discovery, OpenAPI, version, health. Undefined when the path is not served. */
export function servePlainPath(context: RequestContext, parts: PlainPathParts): Reply | undefined {
  const { path, method } = context.info;
  const found = find(context, withoutEnd(path), parts);
  if (found && method !== 'GET' && method !== 'HEAD') throw methodNotAllowed();
  return found;
}

/** Path without the slashes at its end. */
function withoutEnd(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}

function find(
  context: RequestContext,
  path: string,
  { discovery, openApi, address }: PlainPathParts,
): Reply | undefined {
  if (path === '/version') return json(JSON.stringify(SERVER_VERSION, undefined, 2));
  if (HEALTH.has(path) || [...HEALTH].some((root) => path.startsWith(`${root}/`))) return text('ok');
  if (path === '/') return json({ paths: ROOT_PATHS });
  if (path === '/openapi/v2') return { kind: 'bytes', code: 200, ...OPENAPI_V2 };
  if (path === '/openapi/v3') return json(openApi.index());
  const [root, first, second, third, fourth] = path.split('/').slice(1);
  if (root === 'openapi' && first === 'v3') {
    const document =
      second === 'api' ? openApi.document('', third ?? '') : openApi.document(third ?? '', fourth ?? '');
    return document === undefined ? undefined : json(document);
  }
  if (root !== 'api' && root !== 'apis') return undefined;
  const isCore = root === 'api';
  if (first === undefined) return discoveryRoot(context, isCore, discovery, address());
  const listed = isCore
    ? discovery.resources('', first)
    : second
      ? discovery.resources(first, second)
      : discovery.group(first);
  return listed && json(listed);
}

const ROOT_PATHS = [
  '/api',
  '/api/v1',
  '/apis',
  '/healthz',
  '/livez',
  '/openapi/v2',
  '/openapi/v3',
  '/readyz',
  '/version',
];

function text(body: string): Reply {
  return { kind: 'bytes', code: 200, contentType: 'text/plain; charset=utf-8', body };
}

function discoveryRoot(
  context: RequestContext,
  isCore: boolean,
  discovery: Discovery,
  address: string,
): Reply {
  for (const { type, parameters } of parseAccept(context.headers.accept)) {
    const { g, v, as } = parameters;
    if (
      type === 'application/json' &&
      g === 'apidiscovery.k8s.io' &&
      as === 'APIGroupDiscoveryList' &&
      (v === 'v2' || v === 'v2beta1')
    ) {
      const contentType = `application/json;g=apidiscovery.k8s.io;v=${v};as=APIGroupDiscoveryList`;
      return { kind: 'bytes', code: 200, contentType, body: JSON.stringify(discovery.aggregated(isCore, v)) };
    }
    if (as === undefined && (type === 'application/json' || type === '*/*')) break;
  }
  return json(isCore ? discovery.coreVersions(address) : discovery.groupList());
}

/** An unknown path: in plain text, by which clients distinguish it from a missing object. */
export function noSuchPath(): Reply {
  return { kind: 'bytes', code: 404, contentType: 'text/plain; charset=utf-8', body: '404 page not found\n' };
}
