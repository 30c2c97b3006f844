import { isJsonObject } from '#lib/json';
import { badRequest, type KubeObject, recordAt, textAt, textsAt, withField } from '#lib/kube-semantics';
import type { UserInfo } from '../authn/user.js';
import type { Access, PolicyRule } from '../authz/access.js';
import type { Authorizer } from '../authz/authorizer.js';
import { json, type RequestContext } from '../http/request-context.js';
import { readReview } from './review-body.js';
import type { SubresourceHandler } from './subresource-handlers.js';

const API_VERSION = 'authorization.k8s.io/v1';

const LOCAL = 'LocalSubjectAccessReview';

/** May I, may they, and what may I at all. */
export function accessReviews(authorizer: Authorizer): readonly SubresourceHandler[] {
  const at = { group: 'authorization.k8s.io', version: 'v1', subresource: '' };
  const answer = (kind: string, userOf: (review: KubeObject, context: RequestContext) => UserInfo) => {
    return async (context: RequestContext) => {
      const review = await readReview(context, API_VERSION, kind);
      if (kind === LOCAL) checkNamespace(review, context.info.namespace);
      const { allowed, reason } = authorizer.decide(askedAccess(review, userOf(review, context)));
      const status = { allowed, ...(reason ? { reason } : {}) };
      return json({ ...withField(review, 'status', status), metadata: review.metadata }, 201);
    };
  };
  return [
    {
      ...at,
      resource: 'selfsubjectaccessreviews',
      handle: answer('SelfSubjectAccessReview', (_, { user }) => user),
    },
    { ...at, resource: 'subjectaccessreviews', handle: answer('SubjectAccessReview', namedUser) },
    { ...at, resource: 'localsubjectaccessreviews', handle: answer(LOCAL, namedUser) },
    {
      ...at,
      resource: 'selfsubjectrulesreviews',
      handle: async (context: RequestContext) => {
        const review = await readReview(context, API_VERSION, 'SelfSubjectRulesReview');
        const namespace = textAt(review, ['spec', 'namespace']);
        if (namespace === '') throw badRequest('no namespace on request');
        return json(withField(review, 'status', rulesStatus(authorizer.rules(context.user, namespace))), 201);
      },
    },
  ];
}

/** Checks that a review for one namespace asks about that namespace. Throws 400. */
function checkNamespace(review: KubeObject, namespace: string): void {
  const attributes = recordAt(review, 'spec').resourceAttributes;
  if (isJsonObject(attributes) && textAt(attributes, ['namespace']) === namespace) return;
  throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`);
}

function namedUser(review: KubeObject): UserInfo {
  return { username: textAt(review, ['spec', 'user']), groups: textsAt(review, 'spec', 'groups') };
}

function askedAccess(review: KubeObject, user: UserInfo): Access {
  const attributes = recordAt(review, 'spec').resourceAttributes;
  const nonResource = recordAt(review, 'spec', 'nonResourceAttributes');
  const none = { user, group: '', resource: '', subresource: '', namespace: '', name: '', path: '' };
  if (!isJsonObject(attributes)) {
    return {
      ...none,
      isResource: false,
      verb: textAt(nonResource, ['verb']),
      path: textAt(nonResource, ['path']),
    };
  }
  return {
    ...none,
    isResource: true,
    verb: textAt(attributes, ['verb']),
    group: textAt(attributes, ['group']),
    resource: textAt(attributes, ['resource']),
    subresource: textAt(attributes, ['subresource']),
    namespace: textAt(attributes, ['namespace']),
    name: textAt(attributes, ['name']),
  };
}

function rulesStatus(rules: readonly PolicyRule[]): object {
  return {
    resourceRules: rules
      .filter((rule) => rule.resources.length > 0)
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({
        verbs,
        apiGroups,
        resources,
        ...(resourceNames.length > 0 ? { resourceNames } : {}),
      })),
    nonResourceRules: rules
      .filter((rule) => rule.nonResourceURLs.length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
  };
}
