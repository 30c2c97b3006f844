import { KubeApiError } from '#lib/kube';
import { NAMESPACES, type Pod } from '#lib/resources';
import type { NodeContext } from '../context/node-context.js';

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
