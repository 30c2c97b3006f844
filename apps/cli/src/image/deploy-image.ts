import { randomUUID } from 'node:crypto';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { RESOURCES } from '#lib/resources';
import type { Clock } from '#lib/time';

/** The deployments of one image in the namespace of a kubeconfig. */
export class ImageDeployments {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly names: readonly string[];

  private constructor(client: KubeClient, namespace: string, names: readonly string[]) {
    this.#client = client;
    this.#namespace = namespace;
    this.names = names;
  }

  /** @param owners the namespaces that have the image; undefined for all. Deployments of others would find none */
  static async find(
    image: string,
    kubeconfigPath: string,
    owners: readonly string[] | undefined,
  ): Promise<ImageDeployments> {
    const connection = await loadKubeConnection({ kubeconfigPath });
    const { namespace } = connection;
    const client = new KubeClient(connection, { timeoutMs: 10_000 });
    const isOwner = owners?.includes(namespace) ?? true;
    const { items } = isOwner ? await client.list(RESOURCES.AgentDeployment, { namespace }) : { items: [] };
    const names = items
      .filter(({ spec }) => spec.sourceRevisionConfig?.imageUri === image)
      .map(({ metadata }) => metadata.name);
    return new ImageDeployments(client, namespace, names);
  }

  /** Asks for a new revision of each. */
  async deploy(clock: Clock): Promise<void> {
    for (const name of this.names) {
      // an earlier request may name a revision to repeat
      const revisionRequest = { id: randomUUID(), at: clock.now().toISOString(), fromRevisionId: null };
      await this.#client.merge(
        RESOURCES.AgentDeployment,
        { namespace: this.#namespace, name },
        { spec: { revisionRequest } },
      );
    }
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}
