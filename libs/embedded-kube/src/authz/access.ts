import { ApiError, forbidden } from '#lib/kube-semantics';
import type { UserInfo } from '../authn/user.js';

/** The 403 for an access that no rule grants, in Kubernetes' words; the reason is the authoriser's own. */
export function refusal(access: Access, reason = ''): ApiError {
  const { user, verb, group, resource, subresource, namespace, name, path } = access;
  const who = `User "${user.username}" cannot ${verb}`;
  if (!access.isResource) return new ApiError(403, 'Forbidden', `forbidden: ${who} path "${path}"`, {});
  const what = subresource ? `${resource}/${subresource}` : resource;
  const where = namespace ? `in the namespace "${namespace}"` : 'at the cluster scope';
  const why = reason ? `: ${reason}` : '';
  return forbidden(
    { group, resource },
    name,
    `${who} resource "${what}" in API group "${group}" ${where}${why}`,
  );
}

/** Action that a user requests. */
export interface Access {
  readonly user: UserInfo;
  readonly verb: string;
  readonly isResource: boolean;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The only node whose objects a list or watch of pods asks for. */
  readonly nodeName?: string;
  /** Path of a request for no resource: `/healthz`. */
  readonly path: string;
}

/** One rule of a Role or ClusterRole. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

const ANY = '*';

/** True when a rule allows an access. */
export function allows(rule: PolicyRule, access: Access): boolean {
  if (!hasOrAny(rule.verbs, access.verb)) return false;
  if (!access.isResource) return rule.nonResourceURLs.some((url) => matchesUrl(url, access.path));
  if (!hasOrAny(rule.apiGroups, access.group)) return false;
  if (!rule.resources.some((resource) => matchesResource(resource, access))) return false;
  return rule.resourceNames.length === 0 || rule.resourceNames.includes(access.name);
}

function hasOrAny(list: readonly string[], value: string): boolean {
  return list.includes(ANY) || list.includes(value);
}

function matchesResource(rule: string, { resource, subresource }: Access): boolean {
  if (rule === ANY) return true;
  if (subresource === '') return rule === resource;
  return rule === `${resource}/${subresource}` || rule === `*/${subresource}`;
}

function matchesUrl(rule: string, path: string): boolean {
  return rule === ANY || rule === path || (rule.endsWith(ANY) && path.startsWith(rule.slice(0, -1)));
}
