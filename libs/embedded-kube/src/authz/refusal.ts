import { ApiError, forbidden } from '#lib/kube-semantics';
import type { Access } from './access.js';

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
