import type { StoreUserFile } from '#lib/embedded-object-store';
import { isNotFound, type KubeClient } from '#lib/kube';
import {
  type BulkExportDestination,
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
import { storeKeyData, type StoreKeys } from './bootstrap-objects.js';
import { ensureWriter, findWriter, isOperator } from './store-rights.js';
import type { Troubles } from './troubles.js';

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
  await deleteIfThere(client, key);
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

async function deleteIfThere(client: KubeClient, key: ObjectKey): Promise<void> {
  try {
    await client.delete(SECRETS, key);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
