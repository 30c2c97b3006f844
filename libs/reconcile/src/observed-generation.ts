import type { KubeObject } from '#lib/resources';

interface Observing extends KubeObject {
  readonly status?: { readonly observedGeneration?: number };
}

/**
 * The `status.observedGeneration` to write: the object's generation when this pass handled it to the end, else the
 * present value. It is therefore never ahead of the work.
 */
export function observedGeneration(object: Observing, wasHandledFully: boolean): number | undefined {
  return wasHandledFully ? object.metadata.generation : object.status?.observedGeneration;
}

/** True when the status is about the present spec. */
export function isStatusCurrent(object: Observing): boolean {
  return object.status?.observedGeneration === object.metadata.generation;
}
