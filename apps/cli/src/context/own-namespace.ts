import { loadKubeConnection } from '#lib/kube';
import { readWorkspace, RestClient } from '#lib/rest-client';
import { CommandError } from '../command-error.js';
import type { Target } from './target.js';

/**
 * The namespace of the workspace that a target's API key belongs to. A target has two credentials, and a command that uses
 * the key, or names a thing by its name alone, must not act in another workspace than the one that its user sees.
 * @param given namespace that the command names; without it that of the kubeconfig, where it has one, must agree
 * @throws CommandError `usage` when they differ
 */
export async function ownNamespace(
  { title, rest, kubeconfig }: Pick<Target, 'title' | 'rest' | 'kubeconfig'>,
  given?: string,
): Promise<string> {
  const { name, namespace } = await readWorkspace(new RestClient(rest));
  const key = `the API key of ${title} belongs to workspace ${name} (namespace ${namespace})`;
  if (given !== undefined && given !== namespace)
    throw new CommandError(
      'usage',
      `${key}, not to namespace ${given}; nothing was changed: use a context with a key of that workspace`,
    );
  if (given !== undefined || kubeconfig === undefined) return namespace;
  const { namespace: other } = await loadKubeConnection({ kubeconfigPath: kubeconfig });
  // a kubeconfig without a namespace means this one, which is no workspace's
  if (other === namespace || other === 'default') return namespace;
  throw new CommandError(
    'usage',
    `${key}, and its kubeconfig names namespace ${other}; nothing was changed: "kubectl config set-context --current --namespace ${namespace} --kubeconfig ${kubeconfig}" makes them agree, and -n names one for a command that takes it`,
  );
}
