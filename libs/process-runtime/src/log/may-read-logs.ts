import { collectionPath, type KubeClient } from '#lib/kube';
import type { ResourceRef } from '#lib/resources';
import type { LogReader } from './log-server.js';

const REVIEWS: ResourceRef = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
};

/**
 * Asks the API server whether a reader may use the endpoints of this node, as a kubelet does: a certificate of the
 * cluster's CA alone says nothing, nodes and agents may have one too.
 */
export async function mayReadLogs(client: KubeClient, nodeName: string, reader: LogReader): Promise<boolean> {
  if (reader.user === '') return false;
  const answer = (await client.raw('POST', collectionPath(REVIEWS), {
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: REVIEWS.kind,
      spec: {
        ...reader,
        resourceAttributes: { verb: 'get', resource: 'nodes', subresource: 'proxy', name: nodeName },
      },
    },
  })) as { readonly status?: { readonly allowed?: boolean } };
  return answer.status?.allowed === true;
}
