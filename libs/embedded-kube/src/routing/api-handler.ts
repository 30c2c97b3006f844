import { exactField, type ServedType } from '#lib/kube-semantics';
import { parseImpersonation } from '../authn/impersonation.js';
import { type Access, refusal } from '../authz/access.js';
import type { Authorizer } from '../authz/authorizer.js';
import { virtualResources } from '../discovery/virtual-resources.js';
import type { RequestInfo } from '../http/request-info.js';
import type { ResourceHandlers } from '../registry/resource-handlers.js';
import type { TypeRegistry } from '../registry/type-registry.js';
import type { ScaleHandler } from '../subresource/scale.js';
import type { SubresourceHandlers } from '../subresource/subresource-handlers.js';
import { noSuchPath, type PlainPathParts, servePlainPath } from './plain-paths.js';
import type { Handler, Reply, RequestContext } from '../http/request-context.js';

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
