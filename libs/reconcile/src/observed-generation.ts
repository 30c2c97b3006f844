import type { KubeObject } from '#lib/resources';

interface Observing extends KubeObject {
  readonly status?: { readonly observedGeneration?: number };
}

/**
 * The `status.observedGeneration` to write: the object's generation when this pass handled it to the end, else what is
 * there already. It therefore never says more than was done.
 */
export function observedGeneration(object: Observing, wasHandledFully: boolean): number | undefined {
  return wasHandledFully ? object.metadata.generation : object.status?.observedGeneration;
}

/** Whether the status speaks about the present spec. */
export function isStatusCurrent(object: Observing): boolean {
  return object.status?.observedGeneration === object.metadata.generation;
}
