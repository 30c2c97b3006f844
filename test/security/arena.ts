import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { CONDITION, DEFAULT_LISTENER, isConditionTrue, RESOURCES } from '#lib/resources';
import { waitFor } from '#lib/testing';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { Rest } from '../support/rest.js';
import { fillTenant, type Tenant } from './tenant.js';
import { Transcript } from './transcript.js';

/** One started platform with two tenants; every attack of this folder runs against it. */
export interface Arena {
  readonly platform: Platform;
  readonly restUrl: string;
  /** As a member of `system:masters`. */
  readonly kube: KubeClient;
  readonly attacker: Tenant;
  readonly victim: Tenant;
  readonly transcript: Transcript;
  readonly ports: Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

/** Gives the arena once `beforeAll` has opened it. */
export type FindArena = () => Arena;

const ATTACKER = 'attacker';

/** Starts a platform and fills it. */
export async function openArena(): Promise<Arena> {
  return fillArena(await startPlatform(newDataFolder()));
}

async function fillArena(platform: Platform): Promise<Arena> {
  const { credentials, dataFolder } = platform;
  const kube = new KubeClient(await loadKubeConnection({ kubeconfigPath: credentials.kubeconfig }));
  const first = {
    name: 'victim',
    namespace: 'ws-default',
    tenantId: credentials.tenantId,
    workspaceKey: credentials.apiKey,
  };
  const [victim, attacker] = await Promise.all([
    fillTenant(first, credentials, kube),
    makeWorkspace(platform, kube).then((draft) => fillTenant(draft, credentials, kube)),
  ]);
  return {
    platform,
    restUrl: credentials.restUrl,
    kube,
    attacker,
    victim,
    transcript: new Transcript(),
    ports: JSON.parse(readFileSync(join(dataFolder, 'ports.json'), 'utf8')) as Record<string, number>,
    async stop() {
      await kube.close();
      await platform.stop();
      removeDataFolder(dataFolder);
    },
  };
}

/** A second workspace with a listener and its first key. */
async function makeWorkspace({ credentials, dataFolder }: Platform, kube: KubeClient) {
  const tenantId = randomUUID();
  await kube.create(RESOURCES.Workspace, {
    metadata: { name: ATTACKER },
    spec: { tenantId, displayName: 'Attacker', plan: 'enterprise' },
  });
  const namespace = await waitFor(
    async () => {
      const { status } = await kube.get(RESOURCES.Workspace, { name: ATTACKER });
      return isConditionTrue(status?.conditions, CONDITION.ready) && status?.namespace;
    },
    { what: 'the namespace of the workspace' },
  );
  await kube.create(RESOURCES.Listener, {
    metadata: { name: DEFAULT_LISTENER, namespace },
    spec: { computeType: 'cluster', computeId: 'local' },
  });
  const { operatorKey } = JSON.parse(readFileSync(join(dataFolder, 'credentials.json'), 'utf8')) as {
    readonly operatorKey: string;
  };
  const operator = new Rest({ restUrl: credentials.restUrl, apiKey: operatorKey, tenantId });
  const workspaceKey = await waitFor(
    async () => {
      const { status, body } = await operator.post<{ readonly key: string }>('/api/v1/api-key', {});
      return status === 200 || status === 201 ? body.key : undefined;
    },
    { what: 'the first key' },
  );
  return { name: ATTACKER, namespace, tenantId, workspaceKey };
}
