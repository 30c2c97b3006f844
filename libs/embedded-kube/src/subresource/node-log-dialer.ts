import { request } from 'node:https';
import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import type { Clock } from '#lib/time';
import type { IssuedCertificate, NodeLogDialer } from '../api-server-options.js';
import { KUBELET_CLIENT } from '../authn/user.js';
import type { CertificateAuthority } from '../pki/certificate-authority.js';

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
