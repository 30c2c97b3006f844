import { FIRST_WORKSPACE, type StoreCredentials } from '#lib/data-folder';
import { type KubeClient } from '#lib/kube';
import type { StoreUserFile } from '#lib/embedded-object-store';
import {
  CONDITION,
  DEFAULT_LISTENER,
  isConditionTrue,
  keyOf,
  RESOURCES,
  SECRETS,
  type Workspace,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import { retryUnserved } from './apply-manifests.js';
import {
  firstListener,
  firstWorkspace,
  LOCAL_DESTINATION,
  localCredentials,
  localDestination,
} from './bootstrap-objects.js';
import { ensureWriter } from './store-rights.js';

const WAIT_MS = 60_000;
const LOOK_MS = 40;

/** Asks until there is an answer. */
async function until<T>(clock: Clock, what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const deadline = clock.monotonicMs() + WAIT_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (clock.monotonicMs() > deadline)
      throw new Error(`${what} within ${WAIT_MS / 1000} s; see the logs in the data folder`);
    await clock.sleep(LOOK_MS);
  }
}

/** Makes the first Workspace, once; a tenant id that stands there already stays. Answers the tenant's id. */
export async function ensureFirstWorkspace(
  client: KubeClient,
  tenantId: string,
  clock: Clock,
): Promise<string> {
  return await retryUnserved(clock, async () => {
    const found = await client.find(RESOURCES.Workspace, { name: FIRST_WORKSPACE });
    if (found) {
      await allowCredentials(client, found);
      return found.spec.tenantId;
    }
    await client.create(RESOURCES.Workspace, firstWorkspace(tenantId));
    return tenantId;
  });
}

/** A workspace of a time before there was the field could use them; `false` is what its owner says. */
async function allowCredentials(client: KubeClient, { metadata, spec }: Workspace): Promise<void> {
  if (spec.allowEnvironmentCredentials !== undefined) return;
  await client.merge(
    RESOURCES.Workspace,
    { name: metadata.name },
    { spec: { allowEnvironmentCredentials: true } },
  );
}

/** The namespace of the first Workspace, once the controller has made it. */
export async function namespaceOfFirstWorkspace(client: KubeClient, clock: Clock): Promise<string> {
  return await until(clock, 'the first workspace did not get its namespace', async () => {
    const { status } = await client.get(RESOURCES.Workspace, { name: FIRST_WORKSPACE });
    return isConditionTrue(status?.conditions, CONDITION.ready) ? status?.namespace : undefined;
  });
}

/** Listener and destination of the first Workspace. */
export async function fillFirstWorkspace(
  client: KubeClient,
  namespace: string,
  store: StoreCredentials,
  users: StoreUserFile,
): Promise<void> {
  const { metadata, ...listener } = firstListener(namespace);
  await client.apply(RESOURCES.Listener, { metadata, spec: listener.spec });
  const destination = localDestination(namespace, store);
  const secret = localCredentials(namespace, ensureWriter(users, destination));
  const found = await client.find(SECRETS, { namespace, name: secret.metadata.name });
  // one of a time before there were types for Secrets
  if (found && found.type !== secret.type) await client.delete(SECRETS, keyOf(found));
  await client.apply(SECRETS, { ...secret });
  await client.apply(RESOURCES.BulkExportDestination, { ...destination });
}

/** Resolves when agents can be deployed and exports can be written. */
export async function waitForFirstWorkspace(
  client: KubeClient,
  namespace: string,
  clock: Clock,
): Promise<void> {
  await until(clock, 'the listener did not become ready', async () => {
    const { status } = await client.get(RESOURCES.Listener, { namespace, name: DEFAULT_LISTENER });
    return isConditionTrue(status?.conditions, CONDITION.ready) || undefined;
  });
  await until(clock, 'the local destination was not validated', async () => {
    const { status } = await client.get(RESOURCES.BulkExportDestination, {
      namespace,
      name: LOCAL_DESTINATION,
    });
    return isConditionTrue(status?.conditions, CONDITION.validated) || undefined;
  });
}
