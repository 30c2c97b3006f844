import { jsonEquals } from '#lib/json';
import { keyOf, keyText, type KubeObject, type ObjectKey, type ResourceRef } from '#lib/resources';
import type { ClusterContext } from '../context/discovery.js';
import { replaceStatus } from './workload-condition.js';

/**
 * Delay of a status that leaves the counts of ready and available pods unchanged; changes within it are written together.
 * A pod of a spare process is ready within it, so that its start is one write.
 */
const DEBOUNCE_MS = 250;

interface WorkloadStatus {
  readonly readyReplicas?: number | undefined;
  readonly availableReplicas?: number | undefined;
  /** The next pass of a Deployment needs it. */
  readonly collisionCount?: number | undefined;
}

/** Writes statuses of workloads; several changes in a row that leave the counts of ready pods unchanged become one write. */
export class WorkloadStatuses<T extends KubeObject & { readonly status?: WorkloadStatus }> {
  /** Times of waiting writes, by workload. */
  readonly #dueMs = new Map<string, number>();

  constructor(
    private readonly context: Pick<ClusterContext, 'client' | 'clock' | 'informers'>,
    private readonly ref: ResourceRef<T>,
  ) {}

  /** @returns milliseconds after which the caller is to pass again, since the status is not written yet */
  async write(object: T, status: NonNullable<T['status']>): Promise<number | undefined> {
    const { client, clock, informers } = this.context;
    const key = keyText(keyOf(object));
    const nowMs = clock.monotonicMs();
    const dueMs = this.#dueMs.get(key) ?? nowMs + DEBOUNCE_MS;
    if (nowMs < dueMs && keepsReadyPods(object.status, status)) {
      this.#dueMs.set(key, dueMs);
      return dueMs - nowMs;
    }
    this.forget(object.metadata);
    await replaceStatus(client, informers.of(this.ref), object, status);
    return undefined;
  }

  forget(key: ObjectKey): void {
    this.#dueMs.delete(keyText(key));
  }
}

/** True for a change after which as many pods are ready as before. */
function keepsReadyPods(from: WorkloadStatus | undefined, to: WorkloadStatus): boolean {
  return (
    from !== undefined &&
    !jsonEquals(from, to) &&
    from.readyReplicas === to.readyReplicas &&
    from.availableReplicas === to.availableReplicas &&
    from.collisionCount === to.collisionCount
  );
}
