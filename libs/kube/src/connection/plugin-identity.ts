import { type RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import type { KubeConnection } from './kube-connection.js';

/** The identity that an exec or auth-provider plugin of a kubeconfig gives; tokens are asked for at each request (the plugin's own cache answers). */
export async function pluginIdentity(
  text: string,
  context: string | undefined,
): Promise<Pick<KubeConnection, 'auth' | 'clientCertificate' | 'clientKey'>> {
  const config = new KubeConfig();
  config.loadFromString(text);
  if (context !== undefined) config.setCurrentContext(context);
  const first: RequestOptions = {};
  await config.applyToHTTPSOptions(first);
  return {
    ...(first.cert ? { clientCertificate: String(first.cert) } : {}),
    ...(first.key ? { clientKey: String(first.key) } : {}),
    auth: {
      async authorization() {
        const options: RequestOptions = {};
        await config.applyToHTTPSOptions(options);
        const headers = (options.headers ?? {}) as Readonly<Record<string, unknown>>;
        const header = headers.Authorization ?? headers.authorization;
        return typeof header === 'string' ? header : undefined;
      },
    },
  };
}
