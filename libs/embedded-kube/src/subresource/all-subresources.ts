import type { Clock } from '#lib/time';
import type { NodeLogDialer } from '../api-server-options.js';
import type { Authenticator } from '../authn/authenticator.js';
import type { Authorizer } from '../authz/authorizer.js';
import type { HeldAnswers } from '../http/held-answers.js';
import type { CertificateAuthority } from '../pki/certificate-authority.js';
import type { TokenIssuer } from '../pki/token-issuer.js';
import type { ObjectService } from '../registry/object-service.js';
import type { TypeRegistry } from '../registry/type-registry.js';
import type { ObjectStore } from '../store/object-store.js';
import { accessReviews } from './access-reviews.js';
import { authenticationReviews } from './authentication-reviews.js';
import { namespaceFinalize } from './namespace-finalize.js';
import { tlsNodeLogDialer } from './node-log-dialer.js';
import { podBinding, podEviction } from './pod-binding.js';
import { podLog } from './pod-log.js';
import { podStreams } from './pod-streams.js';
import { serviceAccountToken } from './service-account-token.js';
import { SubresourceHandlers } from './subresource-handlers.js';

export interface SubresourceParts {
  readonly store: ObjectStore;
  readonly objects: ObjectService;
  readonly types: TypeRegistry;
  readonly tokens: TokenIssuer;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly authority: CertificateAuthority;
  readonly clock: Clock;
  readonly nodeLogDialer: NodeLogDialer | undefined;
  readonly answers: HeldAnswers;
}

/** Everything that is answered and not simply stored. */
export function subresourceHandlers(parts: SubresourceParts): SubresourceHandlers {
  const { store, objects, types, tokens, authenticator, authorizer, authority, clock, nodeLogDialer } = parts;
  const handlers = [
    ...authenticationReviews(authenticator, () => clock.now()),
    ...accessReviews(authorizer),
    serviceAccountToken(store, tokens, clock),
    ...podBinding(objects, types, clock),
    podEviction(objects, types),
    ...podStreams(store),
    podLog(store, nodeLogDialer ?? tlsNodeLogDialer(authority, { clock })),
    namespaceFinalize(objects, types),
  ];
  return new SubresourceHandlers(handlers, parts.answers);
}
