import { readFile } from 'node:fs/promises';
import type { Clock } from '#lib/time';

/** Bound tokens live for an hour and are rewritten at 80 % of it. */
const REREAD_MS = 60_000;

/** A token in a file that the kubelet renews; read again once a minute. */
export function tokenFile(path: string, clock: Clock): KubeAuthorization {
  let known: { header: string; readAtMs: number } | undefined;
  return {
    async authorization() {
      const now = clock.monotonicMs();
      if (!known || now - known.readAtMs >= REREAD_MS)
        known = { header: `Bearer ${(await readFile(path, 'utf8')).trim()}`, readAtMs: now };
      return known.header;
    },
  };
}

/**
 * Credentials of a request. A client certificate belongs to the TLS session, so it is fixed for a connection.
 */
export interface KubeAuthorization {
  /** Value of the Authorization header; undefined when a client certificate speaks for itself. */
  authorization(): Promise<string | undefined>;
  /** The server has answered 401: credentials that can be asked for anew are, for the next request. */
  rejected?(): void;
}

/** One API server and one identity towards it. Plain data except `auth`; holds no socket. */
export interface KubeConnection {
  /** `https://host:port`, perhaps with a path, without a slash at its end. */
  readonly server: string;
  /** PEM of the CAs that may have signed the server's certificate; the machine's own when absent. */
  readonly ca?: string;
  /** The name to check the certificate against, when it is not the server's host. */
  readonly tlsServerName?: string;
  readonly insecureSkipTlsVerify?: boolean;
  /** PEM of the client certificate and its key. */
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly auth: KubeAuthorization;
  /** Namespace of the context or of the service account. */
  readonly namespace: string;
}

/** No credentials in headers: the client certificate, if any, is the identity. */
export const certificateOnly: KubeAuthorization = { authorization: () => Promise.resolve(undefined) };

/** A token that never changes. */
export function staticToken(token: string): KubeAuthorization {
  return { authorization: () => Promise.resolve(`Bearer ${token}`) };
}
