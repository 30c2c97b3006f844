import { existsSync } from 'node:fs';
import { dataPaths, findRunningPlatform, INSTALLATION, nothingRuns } from '#lib/data-folder';
import { openImageStore } from '#lib/image-store';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { EXIT } from '#lib/lifecycle';
import { RESOURCES } from '#lib/resources';
import { systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';

/** `agentplane image remove NAME`: takes a name out of the image store; the exit code. */
export async function removeImage(name: string, data: string): Promise<number> {
  const { root, images } = dataPaths(data);
  if (!existsSync(root)) throw new CommandError('unreachable', nothingRuns(data).trimEnd());
  const store = openImageStore({ folder: images, installation: INSTALLATION, clock: systemClock });
  const image = await store.find(name);
  if (!image)
    throw new CommandError(
      'failed',
      `image ${name} does not exist; "agentplane image list" shows those that do`,
    );
  const platform = findRunningPlatform(data);
  const users = platform ? await deploymentsOf(image, platform.credentials.kubeconfig) : [];
  if (users.length > 0)
    throw new CommandError(
      'failed',
      `image ${name} is named by ${users.join(', ')}; delete ${users.length === 1 ? 'this deployment' : 'these deployments'} or name another image there`,
    );
  await store.remove(name);
  process.stdout.write(`image ${name} removed\n`);
  process.stderr.write(
    'Its files are removed some minutes after the last revision that runs them, while the platform is running.\n',
  );
  return EXIT.ok;
}

/** `NAMESPACE/NAME` of the deployments that would find no such image any more. */
async function deploymentsOf(
  { name, namespaces }: { readonly name: string; readonly namespaces?: readonly string[] },
  kubeconfigPath: string,
): Promise<readonly string[]> {
  const client = new KubeClient(await loadKubeConnection({ kubeconfigPath }), { timeoutMs: 10_000 });
  try {
    const { items } = await client.list(RESOURCES.AgentDeployment);
    return items
      .filter(({ spec }) => spec.sourceRevisionConfig?.imageUri?.replace(/^local\//, '') === name)
      .filter(({ metadata: { namespace = '' } }) => namespaces?.includes(namespace) ?? true)
      .map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`);
  } finally {
    await client.close();
  }
}
