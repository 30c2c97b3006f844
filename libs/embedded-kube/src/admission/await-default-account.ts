import type { Clock } from '#lib/time';
import { type KubeObject, textAt } from '#lib/kube-semantics';
import type { ObjectStore } from '../store/object-store.js';

const PATIENCE_MS = 2000;

/**
 * Waits a moment for the service account `default`: it is made by a controller just after its namespace, and a person
 * who applies a namespace and a pod together should not have to try twice.
 */
export async function awaitDefaultAccount(
  pod: KubeObject,
  namespace: string,
  store: ObjectStore,
  clock: Clock,
): Promise<void> {
  const name = textAt(pod, ['spec', 'serviceAccountName']) || 'default';
  const key = { resource: 'serviceaccounts', namespace, name };
  if (
    name !== 'default' ||
    store.get(key) ||
    !store.get({ resource: 'namespaces', namespace: '', name: namespace })
  )
    return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = store.subscribe((change) => {
    if (change.resource === key.resource && change.namespace === namespace && change.name === name) resolve();
  });
  const cancel = clock.after(PATIENCE_MS, resolve);
  await promise;
  cancel();
  unsubscribe();
}
