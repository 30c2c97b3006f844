import { randomUUID } from 'node:crypto';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { visibleText } from '#lib/command-line';
import { type AgentDeployment, type ObjectKey, RESOURCES } from '#lib/resources';
import type { Clock } from '#lib/time';
import type { Wanted } from '../deploy/decide-rollout.js';
import { waitForRollout } from '../deploy/wait-for-rollout.js';
import { print } from '../output/print.js';

/** A revision that was asked for. */
interface Asked extends Wanted {
  readonly key: ObjectKey;
}

/** The deployments of one image in the namespace of a kubeconfig. */
export class ImageDeployments {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly names: readonly string[];
  /** Deployments that have no pods until they are resumed. */
  readonly #suspended: ReadonlySet<string>;

  private constructor(client: KubeClient, namespace: string, deployments: readonly AgentDeployment[]) {
    this.#client = client;
    this.#namespace = namespace;
    this.names = deployments.map(({ metadata }) => metadata.name);
    const suspended = deployments.filter(({ spec }) => spec.suspend);
    this.#suspended = new Set(suspended.map(({ metadata }) => metadata.name));
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
    const named = items.filter(({ spec }) => spec.sourceRevisionConfig?.imageUri === image);
    return new ImageDeployments(client, namespace, named);
  }

  /** Asks for a new revision of each; what to wait for. */
  async deploy(clock: Clock): Promise<readonly Asked[]> {
    const asked: Asked[] = [];
    for (const name of this.names) {
      // an earlier request may name a revision to repeat
      const revisionRequest = { id: randomUUID(), at: clock.now().toISOString(), fromRevisionId: null };
      const key = { namespace: this.#namespace, name };
      const changed = await this.#client.merge(RESOURCES.AgentDeployment, key, { spec: { revisionRequest } });
      const generation = changed.metadata.generation ?? 1;
      asked.push({ key, generation, revisionRequestId: revisionRequest.id });
    }
    return asked;
  }

  /**
   * Waits until each serves its new revision, and prints where; one that is suspended is not waited for.
   * @throws CommandError for the first that fails
   */
  async wait(asked: readonly Asked[], timeoutMs: number): Promise<void> {
    for (const one of asked) {
      const { name } = one.key;
      if (this.#suspended.has(name)) {
        process.stderr.write(`${name} is suspended: "agentplane resume ${name}" starts its new revision\n`);
        continue;
      }
      const { revision, url } = await waitForRollout(this.#client, one.key, one, {
        timeoutMs,
        onProgress: (message) => process.stderr.write(`${name}: ${visibleText(message)}\n`),
      });
      print(`${revision} serves at ${url}\n`);
    }
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}
