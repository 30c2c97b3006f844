import { textAt, textsAt, timestamp, withField } from '#lib/kube-semantics';
import type { Authenticator } from '../authn/authenticator.js';
import type { UserInfo } from '../authn/user.js';
import { json, type RequestContext } from '../http/request-context.js';
import { ISSUER } from '../pki/token-issuer.js';
import { readReview } from './review-body.js';
import type { SubresourceHandler } from './subresource-handlers.js';

const API_VERSION = 'authentication.k8s.io/v1';

/** Reviews of the caller's own identity, and of the user of a token. */
export function authenticationReviews(
  authenticator: Authenticator,
  now: () => Date,
): readonly SubresourceHandler[] {
  const at = { group: 'authentication.k8s.io', version: 'v1', subresource: '' };
  return [
    {
      ...at,
      resource: 'selfsubjectreviews',
      handle: async (context: RequestContext) => {
        const review = await readReview(context, API_VERSION, 'SelfSubjectReview');
        const metadata = { ...review.metadata, creationTimestamp: timestamp(now()) };
        return json({ ...withField(review, 'status', { userInfo: userInfo(context.user) }), metadata }, 201);
      },
    },
    {
      ...at,
      resource: 'tokenreviews',
      handle: async (context: RequestContext) => {
        const review = await readReview(context, API_VERSION, 'TokenReview');
        const given = textsAt(review, 'spec', 'audiences');
        const audiences = given.length > 0 ? given : [ISSUER];
        const found = await authenticator.review(textAt(review, ['spec', 'token']), audiences);
        const status = found
          ? { authenticated: true, user: userInfo(found.user), audiences: found.audiences }
          : { authenticated: false, user: {}, error: 'the token is invalid' };
        return json(withField(review, 'status', status), 201);
      },
    },
  ];
}

function userInfo({ username, uid, groups, extra }: UserInfo): object {
  return { username, ...(uid ? { uid } : {}), groups, ...(extra ? { extra } : {}) };
}
