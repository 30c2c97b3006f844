import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { newDataFolder, type Platform, removeDataFolder, startPlatform } from '../support/platform.js';
import { makeWorkspace } from '../support/workspace.js';
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
    apiKey: credentials.apiKey,
  };
  const [victim, attacker] = await Promise.all([
    fillTenant(first, credentials, kube),
    makeWorkspace(credentials, kube, 'attacker').then((draft) => fillTenant(draft, credentials, kube)),
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
