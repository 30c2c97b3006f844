import { join } from 'node:path';
import { StoreUserFile } from '#lib/embedded-object-store';
import { embeddedDatabases } from '#lib/embedded-postgres';
import { openImageStore } from '#lib/image-store';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { FIELD_MANAGER } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { openTraceStore } from '#lib/trace-store';
import { applyDefinitions, applyManifests, writeServiceAccountKubeconfig } from './apply-manifests.js';
import { firstWorkspace, resourceDefinitions, systemObjects } from './bootstrap-objects.js';
import {
  ensureFirstWorkspace,
  fillFirstWorkspace,
  namespaceOfFirstWorkspace,
  waitForFirstWorkspace,
} from './first-workspace.js';
import { moveDestinations } from './move-destinations.js';
import { PLATFORM_ROLES } from './platform-roles.js';
import type { PreparationTasks } from './preparation-tasks.js';
import { ensureKeeper, ensureOperator } from './store-rights.js';
import { Troubles } from './troubles.js';

const FIRST_KEY = 'first key';
const SAMPLE_AGENT = 'sample-agent';
const SYSTEM_NAMESPACE = 'agentplane-system';

/** The tasks themselves. */
export function prepareWith({ clock, log }: { clock: Clock; log: Logger }): PreparationTasks {
  return {
    async databases({ dataDir, port, hasOwnCluster }) {
      const postgres = embeddedDatabases({ dataDir, port });
      const ensure = (role: 'agentplane' | 'kube'): Promise<string> =>
        postgres.ensureDatabase({
          database: role,
          role,
          connectionLimit: PLATFORM_ROLES[role],
          isPlatform: true,
        });
      const [databaseUri, databaseAdminUri, kubeDatabaseUri] = await Promise.all([
        ensure('agentplane'),
        postgres.ensureAdministrator({ role: 'deployments', connectionLimit: PLATFORM_ROLES.deployments }),
        hasOwnCluster ? undefined : ensure('kube'),
      ]);
      return { databaseUri, databaseAdminUri, kubeDatabaseUri };
    },

    async storeOperator({ users, knownKey }) {
      return Promise.resolve(ensureOperator(new StoreUserFile(users), knownKey));
    },

    async attachmentKeys({ users }) {
      return Promise.resolve(ensureKeeper(new StoreUserFile(users)));
    },

    async certificate({ files, names }) {
      const { ensureSelfSigned } = await import('./self-signed-certificate.js');
      await ensureSelfSigned(files, names, clock);
      return null;
    },

    async sampleAgent({ images, installation }) {
      const store = openImageStore({ folder: images, installation });
      await store.import(SAMPLE_AGENT, join(installation, 'examples', 'agent'));
      return null;
    },

    async apiKey({ databaseUri, tenantId, knownKey }) {
      const store = openTraceStore({ program: 'up', uri: databaseUri, poolSize: 2, log, clock });
      try {
        await store.migrate();
        if (knownKey !== undefined && (await store.apiKeys.verify(knownKey)))
          return { key: knownKey, older: [] };
        const before = await store.apiKeys.list(tenantId);
        const { key } = await store.apiKeys.mint(tenantId, { name: FIRST_KEY, scope: 'workspace' });
        const older = before.filter(({ name, revokedAt }) => name === FIRST_KEY && revokedAt === undefined);
        return { key, older: older.map(({ id, createdAt }) => ({ id, createdAt: createdAt.toISOString() })) };
      } finally {
        await store.close();
      }
    },

    async cluster({ kubeconfigPath, installation, tenantId, accounts }) {
      const connection = await loadKubeConnection({ kubeconfigPath });
      const client = new KubeClient(connection, { fieldManager: FIELD_MANAGER.up });
      await Promise.all([
        applyDefinitions(client, resourceDefinitions(installation), clock),
        applyManifests(client, systemObjects(installation)),
      ]);
      const tenant = await ensureFirstWorkspace(client, firstWorkspace(tenantId, true), clock);
      await Promise.all(
        Object.entries(accounts).map(([name, path]) =>
          writeServiceAccountKubeconfig(client, connection, { namespace: SYSTEM_NAMESPACE, name }, path),
        ),
      );
      await client.close();
      return tenant;
    },

    async workspace({ kubeconfigPath, store, users }) {
      const connection = await loadKubeConnection({ kubeconfigPath });
      const client = new KubeClient(connection, { fieldManager: FIELD_MANAGER.up });
      const troubles = new Troubles();
      const namespace = await namespaceOfFirstWorkspace(client, clock, troubles);
      const storeUsers = new StoreUserFile(users);
      await moveDestinations(client, storeUsers, troubles);
      await fillFirstWorkspace(client, namespace, store, storeUsers, troubles);
      await waitForFirstWorkspace(client, namespace, clock, troubles);
      await client.close();
      return troubles.texts;
    },
  };
}
