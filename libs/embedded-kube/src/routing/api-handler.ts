import { exactField, type ServedType, methodNotAllowed } from '#lib/kube-semantics';
import { parseImpersonation } from '../authn/impersonation.js';
import { type Access, refusal } from '../authz/access.js';
import type { Authorizer } from '../authz/authorizer.js';
import { virtualResources } from '../discovery/virtual-resources.js';
import type { RequestInfo } from '../http/request-info.js';
import type { ResourceHandlers } from '../registry/resource-handlers.js';
import type { TypeRegistry } from '../registry/type-registry.js';
import type { ScaleHandler } from '../subresource/scale.js';
import type { SubresourceHandlers } from '../subresource/subresource-handlers.js';
import { type Handler, type Reply, type RequestContext, json } from '../http/request-context.js';
import type { Discovery } from '../discovery/discovery.js';
import { parseAccept } from '../http/request-body.js';
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

interface PlainPathParts {
  readonly discovery: Discovery;
  readonly openApi: OpenApi;
  /** `HOST:PORT` for clients that ask where the server is. */
  readonly address: () => string;
}

const HEALTH = new Set(['/healthz', '/readyz', '/livez']);

/** Everything that is no resource: discovery, OpenAPI, version, health. Undefined when the path is not served. */
function servePlainPath(context: RequestContext, parts: PlainPathParts): Reply | undefined {
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
function noSuchPath(): Reply {
  return { kind: 'bytes', code: 404, contentType: 'text/plain; charset=utf-8', body: '404 page not found\n' };
}

export interface ApiHandlerParts extends PlainPathParts {
  readonly authorizer: Authorizer;
  readonly types: TypeRegistry;
  readonly resources: ResourceHandlers;
  readonly subresources: SubresourceHandlers;
  readonly scale: ScaleHandler;
}

/** Authorises a request and hands it to what serves its path. */
export function apiHandler(parts: ApiHandlerParts): Handler {
  return (received) => {
    const context = impersonated(received, parts.authorizer);
    const access = accessOf(context);
    const { allowed, reason } = parts.authorizer.decide(access);
    if (!allowed) throw refusal(access, reason);
    if (!context.info.isResource) {
      const reply = servePlainPath(context, parts);
      return reply ?? noSuchPath();
    }
    return serveResource(context, parts);
  };
}

/** The request as whom it wants to act, when its sender may. */
function impersonated(context: RequestContext, authorizer: Authorizer): RequestContext {
  const wanted = parseImpersonation(context.headers);
  if (!wanted) return context;
  for (const need of wanted.needs) {
    const access = {
      ...need,
      user: context.user,
      verb: 'impersonate',
      isResource: true,
      path: context.info.path,
    };
    if (!authorizer.decide(access).allowed) throw refusal(access);
  }
  return { ...context, user: wanted.user };
}

function serveResource(context: RequestContext, parts: ApiHandlerParts): Reply | Promise<Reply> {
  const { types, resources, subresources, scale } = parts;
  const { group, version, resource, subresource, namespace } = context.info;
  const served = types.findServed(group, version, resource);
  if (isMisplaced(context.info, served)) return noSuchPath();
  const answered = subresources.find(context.info);
  if (answered) return answered(context);
  if (!served) return noSuchPath();
  if (subresource === 'scale' && served.version.scale)
    return scale.handle(context, served, served.version.scale);
  const isStatus = subresource === 'status' && served.version.hasStatus;
  if (subresource !== '' && !isStatus) return noSuchPath();
  // a namespaced object without its namespace can only be listed or watched across all of them
  if (served.type.namespaced && namespace === '' && !['list', 'watch'].includes(context.info.verb))
    return noSuchPath();
  return resources.handle(context, served);
}

/**
 * True when a cluster-scoped object is asked for under a namespace: there the rights in that namespace would
 * be enough for it. A Namespace is within itself, and within no other.
 */
function isMisplaced(
  { group, resource, namespace, name }: RequestInfo,
  served: ServedType | undefined,
): boolean {
  const type =
    served?.type ?? virtualResources.find((one) => one.group === group && one.resource === resource);
  if (namespace === '' || type?.namespaced !== false) return false;
  return !(group === '' && resource === 'namespaces' && namespace === name);
}

function accessOf({ info, user, query }: RequestContext): Access {
  const { verb, isResource, group, resource, subresource, namespace, name, path } = info;
  const nodeName = exactField(query.get('fieldSelector') ?? '', 'spec.nodeName');
  return { user, verb, isResource, group, resource, subresource, namespace, name, path, nodeName };
}
