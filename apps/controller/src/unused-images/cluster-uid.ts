import type { Informer } from '#lib/kube';
import type { Namespace } from '#lib/resources';

/**
 * Identity of this cluster among those that the same image store served: the uid of the platform's namespace.
 * @throws Error while the namespace is not seen
 */
export function clusterUid(namespaces: Pick<Informer<Namespace>, 'find'>, systemNamespace: string): string {
  const uid = namespaces.find({ name: systemNamespace })?.metadata.uid;
  if (uid === undefined) throw new Error(`namespace ${systemNamespace} does not exist; create it`);
  return uid;
}
