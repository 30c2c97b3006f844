import type { Informers } from '#lib/kube';

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
