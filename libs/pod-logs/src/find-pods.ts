import type { KubeClient, Selection } from '#lib/kube';
import { type Pod, PODS } from '#lib/resources';

/** Selection of the pods that have the logs of an object. */
export interface PodChoice extends Selection {
  /** Leaves out pods that the selection cannot tell apart; none when absent. */
  readonly includes?: (pod: Pod) => boolean;
  /** Note on a pod for readers of the log. */
  readonly noteOf?: (pod: Pod) => string | undefined;
}

/** A look for the pods of a choice, to be repeated while a log is followed; what is noted about a pod is noted once. */
export function podFinder(
  client: Pick<KubeClient, 'list'>,
  { includes, noteOf, ...selection }: PodChoice,
  { signal, onNote }: { readonly signal: AbortSignal; readonly onNote: (note: string) => void },
): () => Promise<readonly Pod[]> {
  const noted = new Set<string>();
  return async () => {
    const { items } = await client.list(PODS, { ...selection, signal });
    const found = includes ? items.filter(includes) : items;
    for (const pod of found) {
      const note = noteOf?.(pod);
      if (note === undefined || noted.has(note)) continue;
      noted.add(note);
      onNote(note);
    }
    return found;
  };
}
