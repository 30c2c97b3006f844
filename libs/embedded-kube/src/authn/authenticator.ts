import type { JWTPayload } from 'jose';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { recordAt, textAt, unauthorized } from '#lib/kube-semantics';
import { ISSUER, type TokenIssuer } from '../pki/token-issuer.js';
import type { ObjectStore } from '../store/object-store.js';
import { ANONYMOUS, AUTHENTICATED, type UserInfo } from './user.js';

export interface AuthenticatorParts {
  readonly tokens: TokenIssuer;
  readonly store: ObjectStore;
  readonly now: () => Date;
}

/** Clocks differ; Kubernetes' own leeway. */
const DELETION_LEEWAY_MS = 60_000;

/** Says who a request is from: a client certificate of our CA, or a service account's token. */
export class Authenticator {
  // the certificate of a connection does not change; reading it costs more than serving a small request
  readonly #bySocket = new WeakMap<TLSSocket, UserInfo>();

  constructor(private readonly parts: AuthenticatorParts) {}

  /** Throws 401 for a token or certificate that is not good; without credentials the user is anonymous. */
  async authenticate(request: IncomingMessage): Promise<UserInfo> {
    const certified = request.socket instanceof TLSSocket ? this.#fromCertificate(request.socket) : undefined;
    if (certified) return certified;
    const match = /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '');
    if (!match) return ANONYMOUS;
    const found = await this.review(match[1] ?? '', [ISSUER]);
    if (!found) throw unauthorized();
    return found.user;
  }

  /** The user of a token that is good for one of the audiences, and for which of them; undefined otherwise. */
  async review(
    token: string,
    audiences: readonly string[],
  ): Promise<{ readonly user: UserInfo; readonly audiences: readonly string[] } | undefined> {
    const claims = await this.parts.tokens.verify(token, this.parts.now());
    if (!claims) return undefined;
    const meant = audiences.filter((audience) => [claims.aud ?? []].flat().includes(audience));
    const user = meant.length > 0 ? this.#accountOf(claims) : undefined;
    return user && { user, audiences: meant };
  }

  /** The user of a token, as long as its account and the object of its binding exist. */
  #accountOf(claims: JWTPayload): UserInfo | undefined {
    const bound = recordAt(claims, 'kubernetes.io');
    const namespace = textAt(bound, ['namespace']);
    const name = textAt(bound, ['serviceaccount', 'name']);
    const uid = textAt(bound, ['serviceaccount', 'uid']);
    if (!this.#lives('serviceaccounts', namespace, name, uid)) return undefined;
    const pod = textAt(bound, ['pod', 'name']);
    const podUid = textAt(bound, ['pod', 'uid']);
    if (pod && !this.#lives('pods', namespace, pod, podUid)) return undefined;
    const secret = textAt(bound, ['secret', 'name']);
    if (secret && !this.#lives('secrets', namespace, secret, textAt(bound, ['secret', 'uid'])))
      return undefined;
    return {
      username: `system:serviceaccount:${namespace}:${name}`,
      uid,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, AUTHENTICATED],
      extra: {
        'authentication.kubernetes.io/credential-id': [`JTI=${claims.jti ?? ''}`],
        ...(pod
          ? {
              'authentication.kubernetes.io/pod-name': [pod],
              'authentication.kubernetes.io/pod-uid': [podUid],
            }
          : {}),
      },
    };
  }

  #fromCertificate(socket: TLSSocket): UserInfo | undefined {
    const known = this.#bySocket.get(socket);
    if (known) return known;
    const { subject } = socket.getPeerCertificate();
    if (!subject?.CN) return undefined;
    if (!socket.authorized) throw unauthorized(); // a certificate of another authority, or an expired one
    const user = {
      username: [subject.CN].flat()[0] ?? '',
      groups: [...[subject.O ?? []].flat(), AUTHENTICATED],
    };
    this.#bySocket.set(socket, user);
    return user;
  }

  #lives(resource: string, namespace: string, name: string, uid: string): boolean {
    const found = this.parts.store.get({ resource, namespace, name });
    if (found?.object.metadata.uid !== uid) return false;
    // an object that only a finalizer keeps counts as deleted once its grace period is over
    const { deletionTimestamp } = found.object.metadata;
    if (deletionTimestamp === undefined) return true;
    return this.parts.now().getTime() <= new Date(deletionTimestamp).getTime() + DELETION_LEEWAY_MS;
  }
}
