import { randomUUID } from 'node:crypto';
import type { KubeClient } from '#lib/kube';
import { CONDITION, DEFAULT_LISTENER, isConditionTrue, RESOURCES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import type { Credentials } from './platform.js';
import { Rest } from './rest.js';

/** A workspace beside the first one of a platform. */
export interface Workspace {
  readonly name: string;
  readonly namespace: string;
  readonly tenantId: string;
  /** Its key named `first key`, with all rights in the workspace. */
  readonly apiKey: string;
}

/** Makes a workspace with a key and a listener, which may still start. */
export async function makeWorkspace(
  { restUrl, operatorKey }: Credentials,
  kube: KubeClient,
  name: string,
): Promise<Workspace> {
  const tenantId = randomUUID();
  await kube.create(RESOURCES.Workspace, { metadata: { name }, spec: { tenantId, plan: 'enterprise' } });
  const namespace = await waitFor(
    async () => {
      const { status } = await kube.get(RESOURCES.Workspace, { name });
      return isConditionTrue(status?.conditions, CONDITION.ready) && status?.namespace;
    },
    { what: `the namespace of workspace ${name}` },
  );
  await kube.create(RESOURCES.Listener, {
    metadata: { name: DEFAULT_LISTENER, namespace },
    spec: { computeType: 'cluster', computeId: 'local' },
  });
  const operator = new Rest({ restUrl, apiKey: operatorKey, tenantId });
  const apiKey = await waitFor(
    async () => {
      const { status, body } = await operator.post<{ readonly key: string }>('/api/v1/api-key', {
        description: 'first key',
      });
      return status < 300 && body.key;
    },
    { what: `the first key of workspace ${name}` },
  );
  return { name, namespace, tenantId, apiKey };
}
