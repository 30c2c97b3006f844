import { request } from 'node:https';
import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { isJsonObject } from '#lib/json';
import {
  ApiError,
  badRequest,
  internalError,
  type KubeObject,
  listAt,
  methodNotAllowed,
  notFound,
  recordAt,
  textAt,
  textsAt,
  timestamp,
  withField,
} from '#lib/kube-semantics';
import { ANNOTATION } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { IssuedCertificate, NodeLogDialer } from '../api-server-options.js';
import type { Authenticator } from '../authn/authenticator.js';
import { KUBELET_CLIENT, type UserInfo } from '../authn/user.js';
import type { Access, PolicyRule } from '../authz/access.js';
import type { Authorizer } from '../authz/authorizer.js';
import type { HeldAnswers } from '../http/held-answers.js';
import { json, type RequestContext } from '../http/request-context.js';
import type { CertificateAuthority } from '../pki/certificate-authority.js';
import { ISSUER, type TokenIssuer } from '../pki/token-issuer.js';
import type { ObjectService } from '../registry/object-service.js';
import type { TypeRegistry } from '../registry/type-registry.js';
import { writeOptions } from '../registry/write-options.js';
import type { ObjectStore } from '../store/object-store.js';
import { podBinding, podEviction } from './pod-binding.js';
import { podLog } from './pod-log.js';
import { serviceAccountToken } from './service-account-token.js';
import { readReview, type SubresourceHandler, SubresourceHandlers } from './subresource-handlers.js';

const INSTEAD: Readonly<Record<string, string>> = {
  exec: 'its processes run on this machine; inspect them with the tools of the machine',
  attach: 'read its output with "kubectl logs -f"',
  portforward: `its ports are open on 127.0.0.1 already; see its annotation ${ANNOTATION.loopbackPorts}`,
};

/** `pods/NAME/exec`, `attach` and `portforward` are not served; the answer names the alternative. */
function podStreams(store: ObjectStore): readonly SubresourceHandler[] {
  return Object.entries(INSTEAD).map(([subresource, instead]) => ({
    group: '',
    version: 'v1',
    resource: 'pods',
    subresource,
    handle: ({ info: { namespace, name } }) => {
      const pod = store.get({ resource: 'pods', namespace, name })?.object;
      if (!pod) throw notFound({ group: '', resource: 'pods' }, name);
      if (textAt(pod, ['spec', 'nodeName']) === '')
        throw badRequest(`pod ${name} does not have a host assigned`);
      const message = `${subresource} is not supported on a node that runs pods as processes: ${instead}`;
      throw new ApiError(405, 'MethodNotAllowed', message, {});
    },
  }));
}

/** `namespaces/NAME/finalize`: the only way to change `spec.finalizers`. */
function namespaceFinalize(objects: ObjectService, types: TypeRegistry): SubresourceHandler {
  return {
    group: '',
    version: 'v1',
    resource: 'namespaces',
    subresource: 'finalize',
    handle: async (context: RequestContext) => {
      if (context.info.verb !== 'update') throw methodNotAllowed();
      const served = types.findServed('', 'v1', 'namespaces');
      if (!served) throw internalError('namespaces are not served');
      const options = writeOptions(context, 'UpdateOptions');
      const given = await readReview(context, 'v1', 'Namespace');
      const finalizers = listAt(given, 'spec', 'finalizers');
      const change = (current: KubeObject): KubeObject => ({
        ...current,
        metadata: { ...current.metadata, resourceVersion: given.metadata.resourceVersion },
        spec: { ...recordAt(current, 'spec'), finalizers },
      });
      const target = { served, namespace: '', name: context.info.name };
      const result = await objects.update(target, change, { ...options, subresource: 'finalize' });
      return json(result.object);
    },
  };
}

const AUTHENTICATION_API = 'authentication.k8s.io/v1';

/** Reviews of the caller's own identity, and of the user of a token. */
function authenticationReviews(authenticator: Authenticator, now: () => Date): readonly SubresourceHandler[] {
  const at = { group: 'authentication.k8s.io', version: 'v1', subresource: '' };
  return [
    {
      ...at,
      resource: 'selfsubjectreviews',
      handle: async (context: RequestContext) => {
        const review = await readReview(context, AUTHENTICATION_API, 'SelfSubjectReview');
        const metadata = { ...review.metadata, creationTimestamp: timestamp(now()) };
        return json({ ...withField(review, 'status', { userInfo: userInfo(context.user) }), metadata }, 201);
      },
    },
    {
      ...at,
      resource: 'tokenreviews',
      handle: async (context: RequestContext) => {
        const review = await readReview(context, AUTHENTICATION_API, 'TokenReview');
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

export interface NodeDialing {
  readonly clock: Clock;
  /** Longest wait in milliseconds for the first byte of an answer. Default 30,000. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;
const KEEP_ALIVE_MS = 30_000;

/**
 * Dials nodes over TLS with a client certificate of the cluster's CA, which proves to the node that the API server asks
 * and is good for nothing else. A node writes its address itself, so that the server there must prove to be this node:
 * an address that leads elsewhere gets no request.
 */
export function tlsNodeLogDialer(
  authority: CertificateAuthority,
  { clock, timeoutMs = TIMEOUT_MS }: NodeDialing,
): NodeLogDialer {
  let issued: Promise<IssuedCertificate> | undefined;
  return async ({ nodeName, address, port, path, signal }) => {
    issued ??= authority.issue({ kind: 'client', user: KUBELET_CLIENT, groups: [] });
    const { certificate, privateKey } = await issued;
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<NodeLogDialer>>>();
    const call = request(
      {
        host: address,
        port,
        path,
        signal,
        key: privateKey,
        cert: certificate,
        ca: authority.certificate,
        ...(isIP(nodeName) ? {} : { servername: nodeName }),
        checkServerIdentity: (_address, server) => checkServerIdentity(nodeName, server),
      },
      (response) => resolve({ status: response.statusCode ?? 502, body: response }),
    );
    const cancel = clock.after(timeoutMs, () =>
      call.destroy(new Error(`node ${nodeName} did not answer within ${timeoutMs / 1000} s`)),
    );
    // a machine that disappears while a log is followed never closes its connection
    call.on('socket', (socket) => socket.setKeepAlive(true, KEEP_ALIVE_MS));
    call.on('error', reject);
    call.end();
    return promise.finally(cancel);
  };
}

const API_VERSION = 'authorization.k8s.io/v1';

const LOCAL = 'LocalSubjectAccessReview';

/** May I, may they, and what may I at all. */
function accessReviews(authorizer: Authorizer): readonly SubresourceHandler[] {
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
