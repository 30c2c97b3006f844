import { KubeClient, type KubeConnection, loadKubeConnection } from '#lib/kube';
import { CommandError } from '../command-error.js';
import type { Target } from './target.js';

const TIMEOUT_MS = 15_000;

/** A client of a target's Kubernetes API, with the namespace of its kubeconfig. */
export interface KubeAccess {
  readonly client: KubeClient;
  readonly connection: KubeConnection;
}

type KubeTarget = Pick<Target, 'title' | 'kubeconfig'>;

/** @throws CommandError when the target has no kubeconfig */
async function openKube({ title, kubeconfig }: KubeTarget): Promise<KubeAccess> {
  if (kubeconfig === undefined)
    throw new CommandError(
      'failed',
      `${title} has no kubeconfig, and this command needs the Kubernetes API: add one with "agentplane contexts add … --kubeconfig FILE"`,
    );
  const connection = await loadKubeConnection({ kubeconfigPath: kubeconfig });
  return {
    client: new KubeClient(connection, { fieldManager: 'agentplane-cli', timeoutMs: TIMEOUT_MS }),
    connection,
  };
}

/** Opens the client for one piece of work and closes it afterwards. */
export async function withKube<T>(target: KubeTarget, act: (kube: KubeAccess) => Promise<T>): Promise<T> {
  const kube = await openKube(target);
  try {
    return await act(kube);
  } finally {
    await kube.client.close();
  }
}
