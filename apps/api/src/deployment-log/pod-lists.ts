import type { KubeClient } from '#lib/kube';
import {
  type ContainerState,
  type ContainerStatus,
  LABEL,
  type Pod,
  type PodContainer,
  PODS,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import type { RestingTurns } from '../kubernetes/resting-turns.js';

/** Maximum number of pods per selection; the rest is left out. */
export const MAX_PODS = 500;
/**
 * Maximum number of containers per pod, not counting init containers; the number of logs that are read at
 * once.
 */
const MAX_CONTAINERS = 64;
/** Valid names of pods; another text would be a selector of its own. */
const POD_NAME = /^[a-z0-9.-]+$/;
/** A pod may have a megabyte and more, and a page is parsed as a whole. */
const PAGE_SIZE = 10;
/** A list is shared for so long. */
const SHARED_MS = 2_000;

/** Selection of pods. */
export interface PodSelection {
  readonly namespace: string;
  readonly labelSelector: string;
  readonly pod?: string | undefined;
}

export interface PodList {
  /** The parts of the pods that logs need: names, containers, which of those have begun and ended. */
  readonly pods: readonly Pod[];
  /** True when there are more than `pods`. */
  readonly isCut: boolean;
}

interface Shared {
  /** Undefined until it has begun. */
  beganMs: number | undefined;
  readonly list: Promise<PodList>;
}

/**
 * Lists of pods for the readers of logs. All readers of the same pods share one list, a namespace has one in
 * flight at a time and pauses after it, and only the parts of each pod that logs need are kept: the objects
 * may be large, and a reader that follows logs needs them for hours.
 */
export class PodLists {
  readonly #shared = new Map<string, Shared>();

  constructor(
    private readonly client: Pick<KubeClient, 'pages'>,
    private readonly turns: RestingTurns,
    private readonly clock: Pick<Clock, 'monotonicMs' | 'after'>,
  ) {}

  /** @param how `isRecent`: a list that began within the last two seconds will do; otherwise one that begins after the call */
  find(selection: PodSelection, { isRecent }: { readonly isRecent: boolean }): Promise<PodList> {
    const key = JSON.stringify([selection.namespace, selection.labelSelector, selection.pod]);
    const known = this.#shared.get(key);
    const oldestMs = this.clock.monotonicMs() - (isRecent ? SHARED_MS : 0);
    if (known && (known.beganMs === undefined || known.beganMs > oldestMs)) return known.list;
    const made: Shared = {
      beganMs: undefined,
      list: this.turns.take(selection.namespace, () => {
        made.beganMs = this.clock.monotonicMs();
        return this.#read(selection);
      }),
    };
    this.#shared.set(key, made);
    const forget = (): void => {
      if (this.#shared.get(key) === made) this.#shared.delete(key);
    };
    made.list.then(() => this.clock.after(SHARED_MS, forget), forget);
    return made.list;
  }

  async #read({ namespace, labelSelector, pod }: PodSelection): Promise<PodList> {
    const pods: Pod[] = [];
    if (pod !== undefined && !POD_NAME.test(pod)) return { pods, isCut: false };
    const pages = this.client.pages<Pod>(PODS, {
      namespace,
      labelSelector,
      pageSize: PAGE_SIZE,
      ...(pod === undefined ? {} : { fieldSelector: `metadata.name=${pod}` }),
    });
    for await (const { items } of pages) {
      if (pods.length + items.length > MAX_PODS) return { pods, isCut: true };
      for (const item of items) pods.push(partOf(item));
    }
    return { pods, isCut: false };
  }
}

function partOf({ metadata, spec, status }: Pod): Pod {
  const { name, namespace, creationTimestamp, labels } = metadata;
  const revision = labels?.[LABEL.revision];
  return {
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(revision === undefined ? {} : { labels: { [LABEL.revision]: revision } }),
    },
    spec: { containers: namesOf(spec.containers), initContainers: namesOf(spec.initContainers) },
    status: {
      ...(status?.phase === undefined ? {} : { phase: status.phase }),
      containerStatuses: statesOf(status?.containerStatuses),
      initContainerStatuses: statesOf(status?.initContainerStatuses),
    },
  };
}

function namesOf(containers: readonly PodContainer[] = []): readonly PodContainer[] {
  return containers.slice(0, MAX_CONTAINERS).map(({ name }) => ({ name }));
}

function statesOf(statuses: readonly ContainerStatus[] = []): readonly ContainerStatus[] {
  return statuses.slice(0, MAX_CONTAINERS).map(({ name, ready, restartCount, state, lastState }) => ({
    name,
    ready,
    restartCount,
    image: '',
    imageID: '',
    state: kindOf(state),
    lastState: kindOf(lastState),
  }));
}

/** Kind of a container's state, without messages and times. */
function kindOf({ running, terminated }: ContainerState = {}): ContainerState {
  return {
    ...(running === undefined ? {} : { running: {} }),
    ...(terminated === undefined ? {} : { terminated: { exitCode: terminated.exitCode } }),
  };
}
