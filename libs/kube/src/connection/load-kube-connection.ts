import { readFile } from 'node:fs/promises';
import { systemClock, type Clock } from '#lib/time';
import { inClusterConnection } from './in-cluster.js';
import type { KubeConnection } from './kube-connection.js';
import { parseKubeconfig } from './parse-kubeconfig.js';

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
