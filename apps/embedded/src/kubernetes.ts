import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startClusterControllers } from '#lib/cluster-controllers';
import { AuditLog } from '#lib/audit-log';
import { type ApiServer, createApiServer, type NamespaceQuota } from '#lib/embedded-kube';
import { loadKubeConnection } from '#lib/kube';
import type { ProgramContext } from '#lib/lifecycle';
import { nodeCapacity } from '#lib/process-runtime';
import type { Logger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import type { EmbeddedConfig } from './config.js';
import { type Amounts, parseAmounts } from '#lib/kube-semantics';
import { MAX_LISTENERS, type ResourceRef, RESOURCES } from '#lib/resources';

const nameOf = ({ plural, group }: Pick<ResourceRef, 'plural' | 'group'>): string => `${plural}.${group}`;

/** All pods, as in a ResourceQuota: `pods` are those that have not ended. */
const ALL_PODS = 'count/pods';

/**
 * Default limits of one workspace on a machine, so that no tenant takes all of it. Far above what people
 * need.
 */
const DEFAULT_QUOTA: Readonly<Record<string, number>> = {
  objects: 20_000,
  megabytes: 32,
  // the machine has 10,000 ports for Services and pods
  ports: 500,
  [ALL_PODS]: 500,
  // each has a database, and pods one after the other
  [nameOf(RESOURCES.AgentDeployment)]: 200,
  [nameOf(RESOURCES.Listener)]: MAX_LISTENERS,
  // their selectors are compared with all that may be theirs
  'deployments.apps': 1_000,
  'replicasets.apps': 5_000,
  // every request is compared with the rules of all that are bound to its sender
  'roles.rbac.authorization.k8s.io': 100,
  'rolebindings.rbac.authorization.k8s.io': 200,
  // each is written to when it changes, and while it is refused
  [nameOf(RESOURCES.BulkExportDestination)]: 200,
  [nameOf(RESOURCES.BulkExport)]: 2_000,
};

const ADVICE = 'AGENTPLANE_NAMESPACE_QUOTA of the platform';
const OWN_WORDS = new Set(['objects', 'megabytes', 'ports']);
/** Resources that the unfinished pods may request together, by the words of a ResourceQuota. */
const REQUESTS: Readonly<Record<string, string>> = {
  pods: 'pods',
  'requests.cpu': 'cpu',
  'requests.memory': 'memory',
};
/** Share of the machine's capacity for pods, so that others find capacity beside the greediest. */
const SHARE_PERCENT = 80n;
/** Shares are rounded down to these billionths: a pod, a thousandth of a core, a megabyte. */
const UNITS: Readonly<Record<string, bigint>> = {
  pods: 10n ** 9n,
  cpu: 10n ** 6n,
  memory: 2n ** 20n * 10n ** 9n,
};

/**
 * The limits of every workspace's namespace; the platform's own has none.
 * @param words NAME=NUMBER, in place of the defaults of these names
 * @param capacity capacity of the machine for pods
 * @throws Error for a malformed word
 */
export function parseQuota(
  words: readonly string[],
  capacity: Readonly<Record<string, string>>,
): NamespaceQuota {
  const isOfRequests = (word: string): boolean => Object.hasOwn(REQUESTS, word.split('=')[0] ?? '');
  const counts = words.filter((word) => !isOfRequests(word)).map(parseCount);
  const limits = { ...DEFAULT_QUOTA, ...Object.fromEntries(counts) };
  const { objects = 0, megabytes = 0, ports = 0 } = limits;
  return {
    appliesTo: (namespace) => namespace.startsWith('ws-'),
    objects,
    ports,
    letters: megabytes * 1024 * 1024,
    advice: ADVICE,
    kinds: Object.fromEntries(
      Object.entries(limits)
        .filter(([name]) => !OWN_WORDS.has(name))
        .map(([name, number]) => [name === ALL_PODS ? 'pods' : name, number]),
    ),
    requests: new Map([...sharesOf(capacity), ...words.filter(isOfRequests).map(parseRequest)]),
  };
}

function sharesOf(capacity: Readonly<Record<string, string>>): Amounts {
  const shares = [...parseAmounts(capacity)].map(([name, nano]) => {
    const share = (nano * SHARE_PERCENT) / 100n;
    return [name, share - (share % (UNITS[name] ?? 1n))] as const;
  });
  return new Map(shares);
}

function parseRequest(word: string): readonly [string, bigint] {
  const [name = '', text = ''] = word.split('=');
  const amount = parseAmounts({ [name]: text }).get(name);
  if (amount === undefined) throw noLimit(word);
  return [REQUESTS[name] ?? name, amount];
}

function parseCount(word: string): readonly [string, number] {
  const [, name = '', number = ''] = /^([a-z0-9.-]+|count\/pods)=(\d{1,9})$/.exec(word) ?? [];
  if (name === '') throw noLimit(word);
  return [name, Number(number)];
}

function noLimit(word: string): Error {
  return new Error(
    `AGENTPLANE_NAMESPACE_QUOTA: ${JSON.stringify(word)} is no limit; write objects=NUMBER, megabytes=NUMBER, ` +
      'ports=NUMBER, pods=NUMBER, count/pods=NUMBER, requests.cpu=QUANTITY, requests.memory=QUANTITY, ' +
      'or PLURAL.GROUP=NUMBER of a kind, with commas between',
  );
}

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
