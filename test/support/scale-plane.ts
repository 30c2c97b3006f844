import { randomUUID } from 'node:crypto';
import type { KubeClient, Untyped } from '#lib/kube';
import { type BulkExport, isConditionTrue, type ResourceRef, RESOURCES, SECRETS } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { type ControlPlane, NAMESPACE } from '../control-plane/control-plane.js';
import type { Kubectl } from './kubectl.js';

const PATIENT = { timeoutMs: 600_000, intervalMs: 250 };
const DAY_MS = 86_400_000;

/** A workspace of the scale test. */
export interface ScaleWorkspace {
  readonly name: string;
  readonly namespace: string;
  readonly tenantId: string;
}

/** What the API server has answered so far. */
export interface AnsweredRequests {
  /** To the platform's own programs: those of service accounts. */
  readonly platform: number;
  /** To everybody, by verb and kind. */
  readonly byKind: ReadonlyMap<string, number>;
}

export async function answeredRequests(kubectl: Kubectl): Promise<AnsweredRequests> {
  const byKind = new Map<string, number>();
  let platform = 0;
  for (const line of (await kubectl.run(['get', '--raw', '/metrics'])).split('\n')) {
    const count = Number(line.slice(line.lastIndexOf(' ')));
    if (line.startsWith('apiserver_flowcontrol_dispatched_requests_total{')) {
      if (line.includes('flow_schema="service-accounts"')) platform += count;
    } else if (line.startsWith('apiserver_request_total{')) {
      const label = (name: string) => new RegExp(`[{,]${name}="([^"]*)"`).exec(line)?.[1] ?? '';
      const sub = label('subresource');
      const key = `${label('verb')} ${label('resource')}${sub === '' ? '' : `/${sub}`}`;
      byKind.set(key, (byKind.get(key) ?? 0) + count);
    }
  }
  return { platform, byKind };
}

/** A workspace that is ready, with the destination `local` of the plane. */
export async function addWorkspace(plane: ControlPlane, number: number): Promise<ScaleWorkspace> {
  const name = `w${number}`;
  const namespace = `ws-${name}`;
  const tenantId = randomUUID();
  const { client } = plane;
  await client.create(RESOURCES.Workspace, { metadata: { name }, spec: { tenantId, plan: 'enterprise' } });
  const isReady = async () =>
    isConditionTrue((await client.get(RESOURCES.Workspace, { name })).status?.conditions, 'Ready');
  await waitFor(isReady, { ...PATIENT, what: `workspace ${name}` });
  const from = { namespace: NAMESPACE, name: 'local' };
  const { spec } = await client.get(RESOURCES.BulkExportDestination, from);
  const { data } = await client.get(SECRETS, { namespace: NAMESPACE, name: 'store' });
  await client.create(SECRETS, { metadata: { namespace, name: 'store' }, ...(data ? { data } : {}) });
  await client.create(RESOURCES.BulkExportDestination, { metadata: { namespace, name: 'local' }, spec });
  await plane.traces.projects.ensure(tenantId, 'p');
  return { name, namespace, tenantId };
}

/** An export of so many days, each a run. */
export async function addExport(
  client: KubeClient,
  { namespace }: ScaleWorkspace,
  days: number,
): Promise<void> {
  const end = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  await client.create(RESOURCES.BulkExport, {
    metadata: { namespace, name: 'days' },
    spec: {
      destinationRef: { name: 'local' },
      tracingProject: { name: 'p' },
      startTime: new Date(end - days * DAY_MS).toISOString(),
      endTime: new Date(end).toISOString(),
    } as unknown as BulkExport['spec'],
  });
}

/** An agent that nobody has to start: kwok says that its pods are ready. */
export async function addDeployment(client: KubeClient, namespace: string, name: string): Promise<void> {
  await client.create<Untyped>(RESOURCES.AgentDeployment as unknown as ResourceRef<Untyped>, {
    metadata: { namespace, name },
    spec: { source: 'external_image', sourceRevisionConfig: { imageUri: 'example.org/agent:1' } },
  });
}
