import { Informers, KubeClient, type KubeConnection, loadKubeConnection } from '#lib/kube';
import type { ProgramContext } from '#lib/lifecycle';
import { FIELD_MANAGER } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { ListenerConfig } from './config.js';
import type { Ownership } from './place/place-cluster.js';

/** The informers of several clusters, started and stopped together. */
export function allInformers(
  clusters: readonly Informers[],
): Pick<Informers, 'start' | 'synced' | 'stop' | 'silentForMs'> {
  return {
    start: () => clusters.forEach((informers) => informers.start()),
    synced: async () => {
      await Promise.all(clusters.map((informers) => informers.synced()));
    },
    stop: async () => {
      await Promise.all(clusters.map((informers) => informers.stop()));
    },
    get silentForMs() {
      return Math.max(...clusters.map(({ silentForMs }) => silentForMs));
    },
  };
}

/** A client of one cluster, with its caches. */
export interface Cluster {
  readonly connection: KubeConnection;
  readonly client: KubeClient;
  readonly informers: Informers;
}

/** The clusters of a listener: one object twice where revisions run in the cluster of their resources. */
export interface Clusters {
  readonly hub: Cluster;
  readonly place: Cluster;
  readonly ownership: Ownership;
}

/** Opens the place, and the hub where it is another cluster; `context` closes their connections. */
export async function openClusters(
  config: Pick<ListenerConfig, 'kubeconfigPath' | 'hubKubeconfigPath'>,
  log: Logger,
  clock: Clock,
  context: ProgramContext,
): Promise<Clusters> {
  const open = async (name: string, kubeconfigPath: string | undefined): Promise<Cluster> => {
    const connection = await loadKubeConnection(kubeconfigPath === undefined ? {} : { kubeconfigPath });
    const client = new KubeClient(connection, { fieldManager: FIELD_MANAGER.listener });
    context.own({ name: `kubernetes client of the ${name}`, stop: () => client.close() });
    return { connection, client, informers: new Informers({ client, log, clock }) };
  };
  const place = await open('place', config.kubeconfigPath);
  if (config.hubKubeconfigPath === undefined) return { hub: place, place, ownership: 'reference' };
  return { hub: await open('hub', config.hubKubeconfigPath), place, ownership: 'label' };
}
