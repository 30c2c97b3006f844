import { visibleText } from '#lib/command-line';
import { PLATFORM_VERSION } from '#lib/config';
import {
  type AddressMode,
  buildHubKubeconfig,
  buildRemoteListener,
  type HubAccess,
  LISTENER_KEY,
} from '#lib/manifests';
import {
  type Listener,
  listenerKeyName,
  listenerObjectName,
  type ObjectKey,
  RESOURCES,
  SECRETS,
  SERVICE_ACCOUNTS,
} from '#lib/resources';
import { POD_TRACING_VARIABLES } from '#lib/telemetry';
import { stringify } from 'yaml';
import { CommandError } from '../command-error.js';
import { type KubeAccess, withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { print } from '../output/print-items.js';

/** Options of commands that open access to the hub. */
export interface AccessFlags extends TargetFlags {
  readonly namespace: string | undefined;
  readonly server: string | undefined;
  /** Milliseconds. */
  readonly duration: number;
}

/** Options of `agentplane listener manifest`. */
export interface ManifestFlags extends AccessFlags {
  readonly image: string | undefined;
  readonly pullSecret: string | undefined;
  readonly addresses: AddressMode | undefined;
  readonly agentsNonRoot: boolean;
  /** True for only the Secret, which the chart does not make. */
  readonly onlySecret: boolean;
  /** `NAME=VALUE` each. */
  readonly tracing: readonly string[];
}

/** `agentplane listener manifest NAME`. */
export async function printManifest(name: string, flags: ManifestFlags): Promise<void> {
  const { image = `agentplane/listener:${PLATFORM_VERSION}`, pullSecret, addresses = 'cluster-dns' } = flags;
  const { agentsNonRoot, onlySecret } = flags;
  const tracing = tracingOf(flags.tracing);
  await withKube(resolveTarget(flags), async (kube) => {
    const key = keyOf(name, flags, kube);
    const listener = await findRemote(kube, key);
    const secret = await kube.client.find(SECRETS, { ...key, name: listenerKeyName(name) });
    const idleKey = secret?.data?.[LISTENER_KEY];
    if (idleKey === undefined) throw notPrepared(name);
    const objects = buildRemoteListener(listener, {
      hub: await openAccess(name, key, flags, kube),
      idleKey: Buffer.from(idleKey, 'base64').toString('utf8'),
      image,
      addresses,
      agentsNonRoot,
      tracing,
      ...(pullSecret === undefined ? {} : { imagePullSecrets: [pullSecret] }),
    });
    const printed = objects.filter(({ kind }) => !onlySecret || kind === SECRETS.kind);
    print(printed.map((object) => stringify(object)).join('---\n'));
  });
}

/** @throws CommandError for a variable that pods do not get */
export function tracingOf(given: readonly string[]): Readonly<Record<string, string>> {
  const pairs = given.map((text) => [text.split('=', 1)[0] ?? '', text.replace(/^[^=]*=?/, '')] as const);
  for (const [name, value] of pairs)
    if (value === '' || !POD_TRACING_VARIABLES.some((known) => known === name))
      throw new CommandError(
        'usage',
        `--tracing takes NAME=VALUE with one of ${POD_TRACING_VARIABLES.join(', ')}; ${name} is none of them, or has no value`,
      );
  return Object.fromEntries(pairs);
}

/** `agentplane listener kubeconfig NAME`. */
export async function printKubeconfig(name: string, flags: AccessFlags): Promise<void> {
  await withKube(resolveTarget(flags), async (kube) => {
    const key = keyOf(name, flags, kube);
    const listener = await findRemote(kube, key);
    print(stringify(buildHubKubeconfig(listener, await openAccess(name, key, flags, kube))));
  });
}

function keyOf(name: string, { namespace }: AccessFlags, { connection }: KubeAccess): ObjectKey {
  return { namespace: namespace ?? connection.namespace, name };
}

async function findRemote({ client }: KubeAccess, key: ObjectKey): Promise<Listener> {
  const listener = await client.find(RESOURCES.Listener, key);
  if (!listener)
    throw new CommandError(
      'notFound',
      `listener ${key.name} does not exist in namespace ${key.namespace ?? ''}: make it with spec.remote.apiUrl`,
    );
  if (listener.spec.remote === undefined)
    throw new CommandError(
      'refused',
      `listener ${key.name} runs in the cluster of the platform: make another one with spec.remote.apiUrl`,
    );
  return listener;
}

/** A token of the listener's account, and where it is good. When it ends is said on standard error. */
async function openAccess(
  name: string,
  key: ObjectKey,
  { server, duration }: AccessFlags,
  { client, connection }: KubeAccess,
): Promise<HubAccess> {
  const account = { ...key, name: listenerObjectName(name) };
  if (!(await client.find(SERVICE_ACCOUNTS, account))) throw notPrepared(name);
  const { token, expirationTimestamp } = await client.createToken(account, {
    expirationSeconds: Math.ceil(duration / 1000),
  });
  process.stderr.write(tokenNote(account.name, expirationTimestamp));
  return {
    server: server ?? connection.server,
    ca: connection.ca,
    tlsServerName: connection.tlsServerName,
    token,
  };
}

/** @param until time in the API server's answer */
export function tokenNote(account: string, until: string): string {
  return `the token is good until ${visibleText(until)}; apply the manifest again before, and delete ServiceAccount ${account} to revoke it\n`;
}

function notPrepared(name: string): CommandError {
  return new CommandError(
    'failed',
    `listener ${name} has no account yet: see its conditions with "agentplane describe listener ${name}"`,
  );
}
