import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startClusterControllers } from '#lib/cluster-controllers';
import { AuditLog } from '#lib/audit-log';
import { type ApiServer, createApiServer } from '#lib/embedded-kube';
import { loadKubeConnection } from '#lib/kube';
import type { ProgramContext } from '#lib/lifecycle';
import { nodeCapacity } from '#lib/process-runtime';
import type { Logger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import type { EmbeddedConfig } from './config.js';
import { parseQuota } from './namespace-quota.js';

/** Namespace of the first Workspace, where a person's commands should go. */
const FIRST_NAMESPACE = 'ws-default';
/** The controllers that a cluster brings, by the name they have in every cluster. */
const CONTROLLER_MANAGER = 'system:kube-controller-manager';

/** The API server, a kubeconfig for people in the data folder, and the controllers that a cluster would bring. */
export async function startKubernetes(
  config: EmbeddedConfig & { readonly kubeDatabaseUri: string },
  log: Logger,
  context: ProgramContext,
): Promise<ApiServer> {
  const clock = systemClock;
  const { auditLog: path } = config;
  const audit = path === undefined ? undefined : new AuditLog({ path, log, clock });
  if (audit) context.own({ name: 'audit log', stop: async () => audit.close() });
  const server = createApiServer({
    ...(audit ? { audit } : {}),
    databaseUri: config.kubeDatabaseUri,
    port: config.kubePort,
    pkiFolder: join(config.dataFolder, 'secrets'),
    quota: parseQuota(config.namespaceQuota, nodeCapacity()),
    clock,
    log,
  });
  await server.start();
  context.own(server);
  const kubeconfigPath = join(config.dataFolder, 'kubeconfig');
  writeFileSync(kubeconfigPath, await server.adminKubeconfig({ namespace: FIRST_NAMESPACE }), {
    mode: 0o600,
  });
  // an identity of their own: what they do must not look like what a person does
  const ownPath = join(config.dataFolder, 'kube', 'controller-manager.kubeconfig');
  const identity = { kind: 'certificate', user: CONTROLLER_MANAGER, groups: ['system:masters'] } as const;
  writeFileSync(ownPath, await server.kubeconfigFor(identity), { mode: 0o600 });
  const connection = await loadKubeConnection({ kubeconfigPath: ownPath });
  context.own(await startClusterControllers({ connection, log, clock }));
  return server;
}
