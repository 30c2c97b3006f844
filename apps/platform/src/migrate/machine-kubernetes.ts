import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { embeddedDatabases } from '#lib/embedded-postgres';
import { createApiServer } from '#lib/embedded-kube';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import type { BackupSource } from '../backup/take/open-source.js';
import { PLATFORM_ROLES } from '../preparation/preparation-tasks.js';

/** The API server of a stopped machine, alone: nothing acts on what it holds. */
export interface MachineKubernetes {
  readonly client: KubeClient;
  stop(): Promise<void>;
}

/** @param source opened, so that its Postgres runs and no platform does */
export async function startMachineKubernetes(
  { paths, superuserUri }: BackupSource,
  { clock, log, fieldManager }: { clock: Clock; log: Logger; fieldManager: string },
): Promise<MachineKubernetes> {
  const role = 'kube';
  const databaseUri = await embeddedDatabases({
    dataDir: paths.root,
    port: Number(new URL(superuserUri).port),
  }).ensureDatabase({ database: role, role, connectionLimit: PLATFORM_ROLES[role], isPlatform: true });
  const server = createApiServer({
    databaseUri,
    port: 0,
    clock,
    log,
    pkiFolder: join(paths.root, 'secrets'),
  });
  await server.start();
  const folder = mkdtempSync(join(paths.root, 'migrate-'));
  try {
    const kubeconfigPath = join(folder, 'kubeconfig');
    writeFileSync(kubeconfigPath, await server.adminKubeconfig(), { mode: 0o600 });
    const client = new KubeClient(await loadKubeConnection({ kubeconfigPath }), { fieldManager, clock });
    return {
      client,
      stop: async () => {
        await client.close();
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
