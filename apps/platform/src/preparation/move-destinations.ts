import type { StoreUserFile } from '#lib/embedded-object-store';
import { isNotFound, type KubeClient } from '#lib/kube';
import {
  type BulkExportDestination,
  LABEL,
  MANAGED_BY,
  type ObjectKey,
  RESOURCES,
  type Secret,
  SECRET_TYPE,
  SECRETS,
} from '#lib/resources';
import { storeKeyData, type StoreKeys } from './bootstrap-objects.js';
import { ensureWriter, hasWriter, isOperator } from './store-rights.js';

/**
 * Gives every destination that still has a retired key of the embedded store, or was made with the operator's, one of its
 * own, for its prefix alone.
 */
export async function moveDestinations(client: KubeClient, users: StoreUserFile): Promise<void> {
  const { items } = await client.list(RESOURCES.BulkExportDestination);
  for (const destination of items) await moveDestination(client, users, destination);
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
  const accessKeyId = Buffer.from(secret?.data?.['access_key_id'] ?? '', 'base64').toString('utf8');
  // a start that ended between the two steps below left a user, and no Secret
  const isHalfMoved = !secret && hasWriter(users, destination);
  if (!isHalfMoved && !users.retired.includes(accessKeyId) && !isOperator(users, accessKeyId)) return;
  const keys = ensureWriter(users, destination);
  if (secret) await deleteIfThere(client, key);
  await client.create(SECRETS, movedSecret(key, secret, keys));
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

async function deleteIfThere(client: KubeClient, key: ObjectKey): Promise<void> {
  try {
    await client.delete(SECRETS, key);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
