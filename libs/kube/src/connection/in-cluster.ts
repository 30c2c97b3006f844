import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#lib/time';
import type { KubeConnection } from './kube-connection.js';
import { tokenFile } from './token-file.js';

interface InClusterOptions {
  readonly folder: string;
  readonly server: string;
  readonly clock: Clock;
}

/** The connection of a pod: the mounted CA, namespace and (renewed) token. */
export async function inClusterConnection({
  folder,
  server,
  clock,
}: InClusterOptions): Promise<KubeConnection> {
  const [ca, namespace] = await Promise.all([
    readFile(join(folder, 'ca.crt'), 'utf8'),
    readFile(join(folder, 'namespace'), 'utf8'),
  ]).catch((error: unknown) => {
    throw new Error(`no kubeconfig was named and no service account is mounted in ${folder}`, {
      cause: error,
    });
  });
  const auth = tokenFile(join(folder, 'token'), clock);
  return { server, ca, namespace: namespace.trim(), auth };
}
