import { request } from 'node:https';
import type { IssuedCertificate, NodeLogDialer } from '../api-server-options.js';
import type { CertificateAuthority } from '../pki/certificate-authority.js';

/** Dials nodes over TLS with a client certificate of the cluster's CA, which proves to the node that the API server asks. */
export function tlsNodeLogDialer(authority: CertificateAuthority): NodeLogDialer {
  let issued: Promise<IssuedCertificate> | undefined;
  return async ({ address, port, path, signal }) => {
    issued ??= authority.issue({
      kind: 'client',
      user: 'kube-apiserver-kubelet-client',
      groups: ['system:masters'],
    });
    const { certificate, privateKey } = await issued;
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<NodeLogDialer>>>();
    const call = request(
      // a node's certificate need not name its address: what it proves is that our CA made it
      {
        host: address,
        port,
        path,
        signal,
        key: privateKey,
        cert: certificate,
        ca: authority.certificate,
        checkServerIdentity: () => undefined,
      },
      (response) => resolve({ status: response.statusCode ?? 502, body: response }),
    );
    call.on('error', reject);
    call.end();
    return promise;
  };
}
