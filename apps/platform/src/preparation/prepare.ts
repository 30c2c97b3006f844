import { join } from 'node:path';
import { StoreUserFile } from '#lib/embedded-object-store';
import { embeddedDatabases } from '#lib/embedded-postgres';
import { openImageStore } from '#lib/image-store';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import {
  type BulkExportDestination,
  FIELD_MANAGER,
  keyOf,
  keyText,
  LABEL,
  MANAGED_BY,
  type ObjectKey,
  RESOURCES,
  type Secret,
  SECRET_TYPE,
  SECRETS,
} from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { openTraceStore } from '#lib/trace-store';
import {
  applyDefinitions,
  applyManifests,
  Troubles,
  writeServiceAccountKubeconfig,
} from './apply-manifests.js';
import {
  ensureKeeper,
  ensureOperator,
  ensureWriter,
  findWriter,
  firstWorkspace,
  isOperator,
  resourceDefinitions,
  storeKeyData,
  type StoreKeys,
  systemObjects,
} from './bootstrap-objects.js';
import {
  ensureFirstWorkspace,
  fillFirstWorkspace,
  namespaceOfFirstWorkspace,
  waitForFirstWorkspace,
} from './first-workspace.js';
import { PLATFORM_ROLES, type PreparationTasks } from './preparation-tasks.js';

/**
 * Gives every destination that still has a retired key of the embedded store, or was made with the operator's, one of its
 * own, for its prefix alone. Retired keys are looked for once: bucket and prefix are what the destination's writer says,
 * so that who only knows the id of a key must not get one for it.
 * For the same reason one that cannot be moved is not tried again with them.
 */
export async function moveDestinations(
  client: KubeClient,
  users: StoreUserFile,
  troubles: Troubles,
): Promise<void> {
  const { items } = await client.list(RESOURCES.BulkExportDestination);
  for (const destination of items)
    await troubles.attempt(`the credentials of BulkExportDestination ${keyText(keyOf(destination))}`, () =>
      moveDestination(client, users, destination),
    );
  users.forgetRetired();
}

async function moveDestination(
  client: KubeClient,
  users: StoreUserFile,
  destination: BulkExportDestination,
): Promise<void> {
  const { metadata, spec } = destination;
  const name = spec.credentialsSecretRef?.name;
  if (name === undefined) return;
  const key = { namespace: metadata.namespace ?? '', name };
  const secret = await client.find(SECRETS, key);
  if (!secret) {
    // a start that ended between the two steps below left a user, whose rights stay what they were, and no Secret
    const writer = findWriter(users, destination);
    if (writer) await client.create(SECRETS, movedSecret(key, undefined, writer));
    return;
  }
  const found = keysIn(secret);
  if (!users.retired.includes(found.accessKeyId) && !isOperator(users, found)) return;
  const keys = ensureWriter(users, destination);
  await client.delete(SECRETS, key);
  await client.create(SECRETS, movedSecret(key, secret, keys));
}

function keysIn({ data = {} }: Secret): StoreKeys {
  const text = (name: string): string => Buffer.from(data[name] ?? '', 'base64').toString('utf8');
  return { accessKeyId: text('access_key_id'), secretAccessKey: text('secret_access_key') };
}

/** The Secret made anew: the type of a Secret never changes, nor what is in one that is immutable. */
function movedSecret(key: ObjectKey, former: Secret | undefined, keys: StoreKeys): Secret {
  const { labels, annotations, ownerReferences } = former?.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      ...key,
      labels: labels ?? { [LABEL.managedBy]: MANAGED_BY, [LABEL.component]: 'destination-credentials' },
      ...(annotations ? { annotations } : {}),
      ...(ownerReferences ? { ownerReferences } : {}),
    },
    type: SECRET_TYPE.destinationCredentials,
    ...(former?.immutable === undefined ? {} : { immutable: former.immutable }),
    data: storeKeyData(keys),
  };
}

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
