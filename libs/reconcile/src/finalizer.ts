import { isDeleting, type KubeObject } from '#lib/resources';

/**
 * Next step of the finalizer protocol:
 * `gone` the object is being deleted and our finalizer is off, touch nothing · `finalize` it is being
 * deleted, release
 * what we hold and then take the finalizer off · `add` put the finalizer on before anything outside is made ·
 * `proceed` reconcile.
 */
export type FinalizerStep = 'gone' | 'finalize' | 'add' | 'proceed';

export function finalizerStep(object: KubeObject, finalizer: string): FinalizerStep {
  const has = hasFinalizer(object, finalizer);
  if (isDeleting(object)) return has ? 'finalize' : 'gone';
  return has ? 'proceed' : 'add';
}

export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}
