import { errorText } from '#lib/errors';
import { compareVersions, isConflict, isNotFound, KubeApiError, type KubeClient } from '#lib/kube';
import {
  CONDITION,
  isConditionTrue,
  keyOf,
  NAMESPACES,
  type Pod,
  POD_SUPPORTED,
  type PodCondition,
  PODS,
  type PodStatus,
} from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { NodeContext } from '../context/node-context.js';
import { within } from '../pace.js';

/**
 * Uid of a pod's namespace: a namespace that was deleted and made again is another, perhaps of other people.
 * Undefined where this node may not read it, on a cluster that gives nodes no such right.
 * @throws Error when the API server does not answer, or knows no such namespace
 */
export async function namespaceUid(
  { client, log }: Pick<NodeContext, 'client' | 'log'>,
  { metadata: { namespace = '' } }: Pod,
): Promise<string | undefined> {
  try {
    return (await client.get(NAMESPACES, { name: namespace })).metadata.uid;
  } catch (error) {
    if (!(error instanceof KubeApiError && error.code === 403)) throw error;
    log.warn(
      { namespace },
      'reading a namespace was refused: one that is made again under its name gets the former user; grant get of namespaces',
    );
    return undefined;
  }
}

export interface StatusReporterOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** The newest object; its uid guards against writing to a namesake. */
  readonly pod: () => Pod;
  readonly status: () => PodStatus;
  readonly annotations: () => Readonly<Record<string, string>>;
}

const MAX_PAUSE_MS = 5_000;

/**
 * Delay of a status that only reports how far the start of a pod is: a spare process is ready within it, and the start of
 * its pod is one write instead of three.
 */
const START_MS = 250;

/** True for a pod of which no container has ended, waits for anything but its turn, or was ready before. */
function isStarting(before: PodStatus | undefined, next: PodStatus): boolean {
  const containers = [...(next.initContainerStatuses ?? []), ...(next.containerStatuses ?? [])];
  return (
    (next.phase === 'Pending' || next.phase === 'Running') &&
    containers.length > 0 &&
    !isConditionTrue(before?.conditions, CONDITION.ready) &&
    !isConditionTrue(next.conditions, CONDITION.ready) &&
    next.conditions?.some(({ type }) => type === POD_SUPPORTED) !== true &&
    containers.every(
      ({ restartCount, state }) =>
        restartCount === 0 &&
        (state?.running !== undefined || state?.waiting?.reason === 'ContainerCreating'),
    )
  );
}

/**
 * Writes the status of one pod: never two writes at a time, many changes become one write, failures are tried again
 * until the pod is deleted. Annotations ride along, because a node may write `pods/status` and nothing else.
 */
export class StatusReporter {
  #written = '';
  /** Version that our last write made, and the conditions in it. */
  #version = '';
  #conditions: readonly PodCondition[] = [];
  #isDirty = false;
  #isGone = false;
  #writing: Promise<void> | undefined;
  /** The status that the API server has. */
  #known: PodStatus | undefined;
  #urgent = Promise.withResolvers<void>();

  constructor(private readonly options: StatusReporterOptions) {
    this.#known = options.pod().status;
  }

  /** Something may have changed. */
  report(): void {
    this.#isDirty = true;
    this.#writing ??= this.#run();
    if (!isStarting(this.#known, this.options.status())) this.#urgent.resolve();
  }

  /**
   * The object came from the API server. A cluster marks the pods of a node that it has not heard of as not ready, and
   * leaves it to the node to say otherwise when it is back.
   */
  observe(pod: Pod): void {
    const { resourceVersion = '', uid } = pod.metadata;
    if (this.#version === '' || uid === undefined || compareVersions(resourceVersion, this.#version) <= 0)
      return;
    const isOurs = ({ type, status }: PodCondition): boolean =>
      pod.status?.conditions?.some((seen) => seen.type === type && seen.status === status) === true;
    if (this.#conditions.every(isOurs)) return;
    this.#written = '';
    this.report();
  }

  /** Resolves when what is known now is written, the pod is deleted, or the time is over. */
  async written(withinMs: number): Promise<void> {
    if (this.#writing) await within(this.#writing, withinMs, this.options.clock);
  }

  /** The same without the delay of a start. */
  async flush(withinMs: number): Promise<void> {
    this.#urgent.resolve();
    await this.written(withinMs);
  }

  /** The pod is not ours to write to any more. */
  close(): void {
    this.#isGone = true;
    this.#urgent.resolve();
  }

  async #run(): Promise<void> {
    await Promise.resolve(); // changes in the same round of the event loop go together
    let pauseMs = 100;
    while (this.#isDirty && !this.#isGone) {
      if (isStarting(this.#known, this.options.status()))
        await within(this.#urgent.promise, START_MS, this.options.clock);
      this.#urgent = Promise.withResolvers();
      if (this.#isGone) break;
      this.#isDirty = false;
      try {
        await this.#write();
        pauseMs = 100;
      } catch (error) {
        if (isNotFound(error) || isConflict(error)) {
          this.#isGone = true;
          break;
        }
        this.#isDirty = true;
        this.options.log.warn(
          { problem: errorText(error), pauseMs },
          'writing a pod status failed, retrying',
        );
        await this.options.clock.sleep(pauseMs);
        pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
      }
    }
    this.#writing = undefined;
  }

  async #write(): Promise<void> {
    const { client, pod: newest } = this.options;
    const pod = newest();
    const status = this.options.status();
    const text = JSON.stringify(status);
    if (text === this.#written) return;
    const answer = await client.mergeStatus(PODS, keyOf(pod), {
      metadata: { uid: pod.metadata.uid ?? '', annotations: this.options.annotations() },
      status,
    });
    this.#written = text;
    this.#version = answer.metadata.resourceVersion ?? '';
    this.#known = status;
    this.#conditions = status.conditions ?? [];
  }
}
