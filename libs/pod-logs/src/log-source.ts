import type { KubeClient, Selection } from '#lib/kube';
import { type ContainerStatus, type Pod, PODS } from '#lib/resources';

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

/** A container whose log can be read. */
export interface LogSource {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Differs from one attempt of the container to the next, and once that has ended. */
  readonly attempt: string;
  /** True when this attempt prints no more. */
  readonly hasEnded: boolean;
}

/** Selection of containers. */
export interface SourceChoice {
  /** Every container when absent. */
  readonly container?: string | undefined;
  /** The attempt before the last restart, of containers that have been restarted. */
  readonly previous?: boolean;
}

/** The containers of pods that have a log, those of the oldest pod first. */
export function logSources(
  pods: readonly Pod[],
  { container, previous = false }: SourceChoice,
): readonly LogSource[] {
  return pods.toSorted(byAge).flatMap((pod) =>
    statusesOf(pod)
      .filter((status) => container === undefined || status.name === container)
      .filter((status) => (previous ? status.restartCount > 0 : hasBegun(status)))
      .map((status) => sourceOf(pod, status)),
  );
}

/** Names of the containers of pods, each once. */
export function containersOf(pods: readonly Pod[]): readonly string[] {
  const names = pods.flatMap(({ spec }) => [...(spec.initContainers ?? []), ...spec.containers]);
  return [...new Set(names.map(({ name }) => name))];
}

const ENDED: ReadonlySet<string | undefined> = new Set(['Succeeded', 'Failed']);

/** True when nothing of these pods will print again. */
export function haveEnded(pods: readonly Pod[]): boolean {
  return pods.every(({ status }) => ENDED.has(status?.phase));
}

function sourceOf({ metadata }: Pod, { name, restartCount, state }: ContainerStatus): LogSource {
  const hasEnded = state?.running === undefined;
  return {
    namespace: metadata.namespace ?? '',
    pod: metadata.name,
    container: name,
    attempt: `${restartCount}${hasEnded ? ' ended' : ''}`,
    hasEnded,
  };
}

function statusesOf({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

/** The node refuses the log of a container that waits for its first start. */
function hasBegun({ state, lastState }: ContainerStatus): boolean {
  return [state?.running, state?.terminated, lastState?.terminated].some((one) => one !== undefined);
}

function byAge(a: Pod, b: Pod): number {
  const created = ({ metadata }: Pod): string => metadata.creationTimestamp ?? '';
  return created(a).localeCompare(created(b)) || a.metadata.name.localeCompare(b.metadata.name);
}
