import { forbidden, type KubeObject, notFound } from '#lib/kube-semantics';
import type { Admission } from './admission-request.js';

/** Nothing is created in a namespace that does not exist or is going away. */
export function admitNamespace(object: KubeObject, { type, namespace, store }: Admission): void {
  if (!type.namespaced) return;
  const found = store.get({ resource: 'namespaces', namespace: '', name: namespace });
  if (!found) throw notFound({ group: '', resource: 'namespaces' }, namespace);
  if (found.object.metadata.deletionTimestamp === undefined) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  throw forbidden(type, object.metadata.name ?? '', why, [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ]);
}
