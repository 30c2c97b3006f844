import type { IssuedCertificate, KubeconfigOptions } from '../api-server-options.js';

export type KubeCredentials = IssuedCertificate | { readonly token: string };

/** A kubeconfig with everything inline: it stays good when files move. JSON is YAML too, and is read without a parser of it. */
export function renderKubeconfig(
  server: string,
  caCertificate: string,
  credentials: KubeCredentials,
  { context = 'agentplane', namespace }: KubeconfigOptions,
): string {
  const user =
    'token' in credentials
      ? { token: credentials.token }
      : {
          'client-certificate-data': base64(credentials.certificate),
          'client-key-data': base64(credentials.privateKey),
        };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: context, cluster: { server, 'certificate-authority-data': base64(caCertificate) } }],
    users: [{ name: context, user }],
    contexts: [
      { name: context, context: { cluster: context, user: context, ...(namespace ? { namespace } : {}) } },
    ],
    'current-context': context,
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
