import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, systemClock } from '#lib/time';
import { type KubeConnection, tokenFile } from './kube-connection.js';
import { parseKubeconfig } from './parse-kubeconfig.js';

interface InClusterOptions {
  readonly folder: string;
  readonly server: string;
  readonly clock: Clock;
}

/** The connection of a pod: the mounted CA, namespace and (renewed) token. */
async function inClusterConnection({ folder, server, clock }: InClusterOptions): Promise<KubeConnection> {
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

export interface KubeConnectionOptions {
  /** Path of a kubeconfig file; absent: the files that a cluster mounts into its pods. */
  readonly kubeconfigPath?: string;
  /** A context of the file other than its current one. */
  readonly context?: string;
  /** Folder in which the service account is mounted. */
  readonly serviceAccountFolder?: string;
  /** The API server as pods see it. */
  readonly inClusterServer?: string;
  readonly clock?: Clock;
}

/**
 * Address and identity for the API server: from a kubeconfig file, else from the service account of this pod.
 */
export async function loadKubeConnection(options: KubeConnectionOptions = {}): Promise<KubeConnection> {
  const { kubeconfigPath, clock = systemClock } = options;
  if (kubeconfigPath === undefined || kubeconfigPath === '')
    return await inClusterConnection({
      folder: options.serviceAccountFolder ?? '/var/run/secrets/kubernetes.io/serviceaccount',
      server: options.inClusterServer ?? 'https://kubernetes.default.svc',
      clock,
    });
  const text = await readKubeconfig(kubeconfigPath);
  return await parseKubeconfig({
    text,
    path: kubeconfigPath,
    clock,
    ...(options.context === undefined ? {} : { context: options.context }),
  });
}

async function readKubeconfig(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT')
      throw new Error(`the kubeconfig ${path} does not exist`);
    throw new Error(`reading the kubeconfig ${path} failed`, { cause });
  }
}
