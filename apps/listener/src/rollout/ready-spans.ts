import type { ObjectKey, Pod } from '#lib/resources';
import { isWorkloadReady } from './workload-ready.js';
import type { RevisionWorld, RolloutWorld } from './world.js';

interface Span {
  /** Starts of containers that were ready. */
  readonly starts: string;
  readonly sinceMs: number;
}

/**
 * Time for which the pods of revisions have been ready, by the monotonic clock: it neither follows a clock
 * that is set nor trusts those of the nodes. A restart of this program begins anew, so a takeover comes a
 * little later and never too early. A container that ended in between is another start, even if it was never
 * observed as not ready.
 */
export class ReadySpans {
  /**
   * Spans of each deployment, by the uid of the workload: a repeat takes the span of the pods that it takes.
   */
  readonly #spans = new Map<string, ReadonlyMap<string, Span>>();

  /** Called in every pass over a deployment. */
  look(key: ObjectKey, world: RolloutWorld, nowMs: number): RolloutWorld {
    const before = this.#spans.get(nameOf(key));
    const spans = new Map<string, Span>();
    const revisions = world.revisions.map((one): RevisionWorld => {
      const uid = one.workload?.metadata.uid;
      if (uid === undefined || !isWorkloadReady(one)) return one;
      const starts = one.pods.map(startsOf).sort().join();
      const known = before?.get(uid);
      const span = known?.starts === starts ? known : { starts, sinceMs: nowMs };
      spans.set(uid, span);
      return { ...one, readyForMs: nowMs - span.sinceMs };
    });
    this.#spans.set(nameOf(key), spans);
    return { ...world, revisions };
  }

  /** The deployment is gone. */
  forget(key: ObjectKey): void {
    this.#spans.delete(nameOf(key));
  }
}

function nameOf({ namespace = '', name }: ObjectKey): string {
  return `${namespace}/${name}`;
}

function startsOf({ metadata, status }: Pod): string {
  const counts = (status?.containerStatuses ?? []).map(({ restartCount }) => restartCount);
  return `${metadata.uid ?? metadata.name}:${counts.join(':')}`;
}
