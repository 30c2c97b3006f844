import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startClusterControllers } from '#lib/cluster-controllers';
import { type ApiServer, createApiServer } from '#lib/embedded-kube';
import { loadKubeConnection } from '#lib/kube';
import type { ProgramContext } from '#lib/lifecycle';
import type { Logger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import type { EmbeddedConfig } from './config.js';

/** Namespace of the first Workspace, where a person's commands should go. */
const FIRST_NAMESPACE = 'ws-default';

/** The API server, a kubeconfig for people in the data folder, and the controllers that a cluster would bring. */
export async function startKubernetes(
  config: EmbeddedConfig & { readonly kubeDatabaseUri: string },
  log: Logger,
  context: ProgramContext,
): Promise<ApiServer> {
  const clock = systemClock;
  const server = createApiServer({
    databaseUri: config.kubeDatabaseUri,
    port: config.kubePort,
    pkiFolder: join(config.dataFolder, 'secrets'),
    clock,
    log,
  });
  await server.start();
  context.own(server);
  const kubeconfigPath = join(config.dataFolder, 'kubeconfig');
  writeFileSync(kubeconfigPath, await server.adminKubeconfig({ namespace: FIRST_NAMESPACE }), {
    mode: 0o600,
  });
  const connection = await loadKubeConnection({ kubeconfigPath });
  context.own(await startClusterControllers({ connection, log, clock }));
  return server;
}
