import { KubeClient, loadKubeConnection } from '#lib/kube';
import { RESOURCES } from '#lib/resources';

/** Names that have no Workspace. */
export async function missingWorkspaces(
  names: readonly string[],
  kubeconfigPath: string,
): Promise<readonly string[]> {
  if (names.length === 0) return [];
  const client = new KubeClient(await loadKubeConnection({ kubeconfigPath }), { timeoutMs: 10_000 });
  try {
    const { items } = await client.list(RESOURCES.Workspace);
    return names.filter((name) => !items.some(({ metadata }) => metadata.name === name));
  } finally {
    await client.close();
  }
}
