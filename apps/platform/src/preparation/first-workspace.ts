import { FIRST_WORKSPACE, type StoreCredentials } from '#lib/data-folder';
import type { KubeClient } from '#lib/kube';
import type { StoreUserFile } from '#lib/embedded-object-store';
import {
  type BulkExportDestination,
  type Condition,
  CONDITION,
  DEFAULT_LISTENER,
  isConditionTrue,
  keyOf,
  type Listener,
  RESOURCES,
  SECRETS,
  type Workspace,
} from '#lib/resources';
import type { Clock } from '#lib/time';
import { retryUnserved, type Troubles } from './apply-manifests.js';
import {
  ensureWriter,
  firstListener,
  LOCAL_DESTINATION,
  localCredentials,
  localDestination,
} from './bootstrap-objects.js';

const WAIT_MS = 60_000;
const LOOK_MS = 40;
const IN_TIME = `within ${WAIT_MS / 1000} s`;

/** Asks until there is an answer; undefined without one in time. */
async function until<T>(clock: Clock, ask: () => Promise<T | undefined>): Promise<T | undefined> {
  const deadline = clock.monotonicMs() + WAIT_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined || clock.monotonicMs() > deadline) return answer;
    await clock.sleep(LOOK_MS);
  }
}

/** Makes the first Workspace, once; an existing tenant id stays. Answers the tenant's id. */
export async function ensureFirstWorkspace(
  client: KubeClient,
  wanted: Workspace,
  clock: Clock,
): Promise<string> {
  return await retryUnserved(clock, async () => {
    const found = await client.find(RESOURCES.Workspace, { name: FIRST_WORKSPACE });
    if (found) {
      if (wanted.spec.allowEnvironmentCredentials === true) await allowCredentials(client, found);
      return found.spec.tenantId;
    }
    await client.create(RESOURCES.Workspace, wanted);
    return wanted.spec.tenantId;
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
export async function namespaceOfFirstWorkspace(
  client: KubeClient,
  clock: Clock,
  troubles: Troubles,
): Promise<string> {
  const find = async (): Promise<Workspace['status']> =>
    (await client.get(RESOURCES.Workspace, { name: FIRST_WORKSPACE })).status;
  const ready = await until(clock, async () => {
    const status = await find();
    return isConditionTrue(status?.conditions, CONDITION.ready) ? status?.namespace : undefined;
  });
  if (ready !== undefined) return ready;
  const status = await find();
  const trouble = notInTime(`Workspace ${FIRST_WORKSPACE}`, 'ready', CONDITION.ready, status?.conditions);
  if (status?.namespace === undefined) throw new Error(trouble);
  troubles.add(trouble);
  return status.namespace;
}

/** The listener of the first Workspace. */
export async function ensureFirstListener(
  client: KubeClient,
  namespace: string,
  troubles: Troubles,
): Promise<void> {
  await troubles.attempt(`Listener ${namespace}/${DEFAULT_LISTENER}`, async () => {
    const { metadata, ...listener } = firstListener(namespace);
    await client.apply(RESOURCES.Listener, { metadata, spec: listener.spec });
  });
}

/** Listener and destination of the first Workspace. */
export async function fillFirstWorkspace(
  client: KubeClient,
  namespace: string,
  store: StoreCredentials,
  users: StoreUserFile,
  troubles: Troubles,
): Promise<void> {
  await ensureFirstListener(client, namespace, troubles);
  await troubles.attempt(
    `BulkExportDestination ${namespace}/${LOCAL_DESTINATION} and its Secret`,
    async () => {
      const destination = localDestination(namespace, store);
      const secret = localCredentials(namespace, ensureWriter(users, destination));
      const found = await client.find(SECRETS, { namespace, name: secret.metadata.name });
      // one of a time before there were types for Secrets
      if (found && found.type !== secret.type) await client.delete(SECRETS, keyOf(found));
      await client.apply(SECRETS, { ...secret });
      await client.apply(RESOURCES.BulkExportDestination, { ...destination });
    },
  );
}

/** Resolves when agents can be deployed and exports can be written, or when that takes too long. */
export async function waitForFirstWorkspace(
  client: KubeClient,
  namespace: string,
  clock: Clock,
  troubles: Troubles,
): Promise<void> {
  const settled = async (
    ref: typeof RESOURCES.Listener | typeof RESOURCES.BulkExportDestination,
    name: string,
    [type, adjective]: readonly [string, string],
  ): Promise<void> => {
    const find = async (): Promise<readonly Condition[] | undefined> =>
      (await client.find<Listener | BulkExportDestination>(ref, { namespace, name }))?.status?.conditions;
    if (await until(clock, async () => isConditionTrue(await find(), type) || undefined)) return;
    troubles.add(notInTime(`${ref.kind} ${namespace}/${name}`, adjective, type, await find()));
  };
  await Promise.all([
    settled(RESOURCES.Listener, DEFAULT_LISTENER, [CONDITION.ready, 'ready']),
    settled(RESOURCES.BulkExportDestination, LOCAL_DESTINATION, [CONDITION.validated, 'validated']),
  ]);
}

function notInTime(
  object: string,
  adjective: string,
  type: string,
  conditions: readonly Condition[] | undefined,
): string {
  const message = conditions?.find((condition) => condition.type === type)?.message ?? 'nothing is reported';
  return `${object} is not ${adjective} ${IN_TIME}: ${message}`;
}
