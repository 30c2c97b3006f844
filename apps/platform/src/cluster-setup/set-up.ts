import { randomUUID } from 'node:crypto';
import { isAlreadyExists, type KubeClient } from '#lib/kube';
import { LABEL, MANAGED_BY, type Secret, SECRETS } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { type TraceStore, warnOfOpenDatabases } from '#lib/trace-store';
import { applyDefinitions, Troubles } from '../preparation/apply-manifests.js';
import { firstWorkspace, resourceDefinitions } from '../preparation/bootstrap-objects.js';
import {
  ensureFirstListener,
  ensureFirstWorkspace,
  namespaceOfFirstWorkspace,
} from '../preparation/first-workspace.js';

/** Key of the Secret that holds the first API key. */
const API_KEY = 'api-key';
const FIRST_KEY = 'first key';

export interface SetupParts {
  readonly client: KubeClient;
  readonly store: Pick<TraceStore, 'apiKeys'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The platform's kinds, at the version of this installation. Stored objects stay: definitions only gain
 * fields.
 */
export async function setUpKinds(
  { client, clock, log }: Omit<SetupParts, 'store'>,
  installation: string,
): Promise<void> {
  const definitions = resourceDefinitions(installation);
  await applyDefinitions(client, definitions, clock);
  log.info({ kinds: definitions.length }, 'kinds are served');
}

/** The schema of traces, and a word about who may connect besides. */
export async function setUpSchema(
  store: Pick<TraceStore, 'migrate' | 'openDatabases'>,
  log: Logger,
): Promise<void> {
  await store.migrate();
  await warnOfOpenDatabases(store, log);
}

export interface FirstWorkspaceSettings {
  readonly systemNamespace: string;
  readonly firstKeySecret: string;
  /** True when a workspace that is made now may use the credentials of the environment. */
  readonly allowEnvironmentCredentials: boolean;
}

/** The first workspace with a listener, and an API key for it in a Secret of the system namespace; what is there stays. */
export async function setUpFirstWorkspace(
  { client, store, clock, log }: SetupParts,
  { systemNamespace, firstKeySecret, allowEnvironmentCredentials }: FirstWorkspaceSettings,
): Promise<void> {
  const wanted = firstWorkspace(randomUUID(), allowEnvironmentCredentials);
  const tenantId = await ensureFirstWorkspace(client, wanted, clock);
  const troubles = new Troubles();
  const namespace = await namespaceOfFirstWorkspace(client, clock, troubles);
  await ensureFirstListener(client, namespace, troubles);
  await ensureFirstKey({ client, store, log }, tenantId, {
    namespace: systemNamespace,
    name: firstKeySecret,
  });
  if (troubles.texts.length > 0) throw new Error(troubles.texts.join('; '));
  log.info({ namespace }, 'the first workspace can be used');
}

/** An existing Secret is left alone, also when its key was revoked: a person did that. */
async function ensureFirstKey(
  { client, store, log }: Pick<SetupParts, 'client' | 'store' | 'log'>,
  tenantId: string,
  at: { readonly namespace: string; readonly name: string },
): Promise<void> {
  if (await client.find(SECRETS, at)) return;
  const { key, id } = await store.apiKeys.mint(tenantId, { name: FIRST_KEY, scope: 'workspace' });
  const secret: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...at, labels: { [LABEL.managedBy]: MANAGED_BY } },
    type: 'Opaque',
    data: { [API_KEY]: Buffer.from(key, 'utf8').toString('base64') },
  };
  try {
    await client.create(SECRETS, secret);
    log.info({ secret: at.name }, 'made the first API key');
  } catch (error) {
    // no other program knows this one
    await store.apiKeys.revoke(tenantId, id);
    if (!isAlreadyExists(error)) throw error;
  }
}
