import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type Ended } from '#lib/command-line';
import { dataPaths, findDiskTrouble, readJson, type TlsAddress } from '#lib/data-folder';
import { errorText } from '#lib/errors';
import { isJsonObject } from '#lib/json';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { EXIT } from '#lib/lifecycle';
import {
  type AgentDeployment,
  CONDITION,
  findCondition,
  LABEL,
  type Node,
  NODES,
  nodeWarnings,
  PODS_RUN_AS_ROOT,
  PODS_SHARE_USER,
  PROCESS_RUNTIME,
  RESOURCES,
  STATEFUL_SETS,
} from '#lib/resources';
import { fetchOf, readWarnings, type RestAccess, RestClient, RestUnreachableError } from '#lib/rest-client';
import { systemClock } from '#lib/time';
import { withKube } from '../context/open-kube.js';
import { resolveTarget, type Target, type TargetFlags } from '../context/target.js';
import { type OutputFormat, renderItems, type Shape } from '../output/print-items.js';

/** Resources that one deployment shares with others. */
export interface TrustRow {
  readonly deployment: string;
  /** Text on the user of its processes, and on the programs that share it. */
  readonly user: string;
  /** Text on its database server, and on the deployments that share it. */
  readonly database: string;
  /** Text on the access to its port. */
  readonly port: string;
}

const TRUST_SHAPE: Shape<TrustRow> = {
  nameOf: ({ deployment }) => deployment,
  columns: [
    { heading: 'DEPLOYMENT', cell: ({ deployment }) => deployment },
    { heading: 'USER', cell: ({ user }) => user },
    { heading: 'DATABASE SERVER', cell: ({ database }) => database },
    { heading: 'PORT', cell: ({ port }) => port },
  ],
};

/** @param owners names of the deployments that have a Postgres server of their own */
export function trustRows(
  deployments: readonly AgentDeployment[],
  nodes: readonly Node[],
  owners: readonly string[],
): readonly TrustRow[] {
  const isTrue = (wanted: string): boolean =>
    nodes.some(({ status }) =>
      status?.conditions?.some(({ type, status: is }) => type === wanted && is === 'True'),
    );
  const runsProcesses = nodes.some(({ metadata }) =>
    Object.entries(PROCESS_RUNTIME).every(([key, value]) => metadata.labels?.[key] === value),
  );
  const user = isTrue(PODS_RUN_AS_ROOT)
    ? 'root, with every agent and the platform'
    : isTrue(PODS_SHARE_USER)
      ? 'the platform’s, with every agent'
      : runsProcesses
        ? 'its own'
        : 'its containers’';
  return deployments.map(({ metadata: { name } }) => ({
    deployment: name,
    user,
    database: owners.includes(name)
      ? 'its own'
      : 'shared with every deployment; database and role are its own',
    port: runsProcesses
      ? 'open to every program of the machine; asks for a key'
      : 'as NetworkPolicies allow; asks for a key',
  }));
}

/** `agentplane status --trust`: what the deployments of a namespace share with others. */
async function printTrust(target: Target, output: OutputFormat): Promise<void> {
  const rows = await withKube(target, async ({ client, connection: { namespace } }) => {
    const [nodes, deployments, servers] = await Promise.all([
      client.list(NODES),
      client.list(RESOURCES.AgentDeployment, { namespace }),
      client.list(STATEFUL_SETS, { namespace, labelSelector: LABEL.databaseOf }),
    ]);
    const owners = servers.items.flatMap(({ metadata }) => metadata.labels?.[LABEL.databaseOf] ?? []);
    return trustRows(deployments.items, nodes.items, owners);
  });
  process.stdout.write(await renderItems(output, rows, TRUST_SHAPE));
}

/** One part of a platform. */
export interface Part {
  readonly part: string;
  /** `ok` and `ready` are healthy; with `warning` everything works, too. */
  readonly state: string;
  readonly detail: string;
}

const DAY_MS = 86_400_000;
/** A part that says nothing for as long is not reached. */
const ANSWER_MS = 3_000;

/** Length, then the number by which a client asks for TLS: answered N or S before any password. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** @param isHealthy judges the status; an object store that refuses anonymous requests is healthy */
async function serverState(
  part: string,
  {
    url,
    path = '',
    caFile,
    isHealthy = () => true,
  }: {
    readonly url: string;
    readonly path?: string;
    readonly caFile?: string | undefined;
    readonly isHealthy?: (code: number) => boolean;
  },
): Promise<Part> {
  try {
    const send = fetchOf({ url, ...(caFile === undefined ? {} : { caFile }) });
    const response = await send(`${url}${path}`, { headers: {}, signal: AbortSignal.timeout(ANSWER_MS) });
    const { status } = response;
    const trouble = isHealthy(status) ? await troubleIn(response) : undefined;
    if (trouble !== undefined) return { part, state: 'degraded', detail: trouble };
    return { part, state: isHealthy(status) ? 'ok' : `HTTP ${status}`, detail: url };
  } catch (error) {
    return { part, state: 'unreachable', detail: errorText(error) };
  }
}

/** Trouble that a working server reports of itself. */
async function troubleIn(response: Response): Promise<string | undefined> {
  const body = await response.json().catch(() => undefined);
  return isJsonObject(body) && typeof body['detail'] === 'string' ? body['detail'] : undefined;
}

/** The disk of a platform on this machine. */
function diskState(folder: string): Part {
  const trouble = findDiskTrouble(folder);
  return { part: 'disk', state: trouble === undefined ? 'ok' : 'full', detail: trouble ?? folder };
}

/** Asked for its health: the first scrape loads what renders metrics, which a glance should not cost. */
async function metricsState(program: string, url: string): Promise<Part> {
  const { origin } = new URL(url);
  const isHealthy = (code: number): boolean => code === 200;
  const found = await serverState(`program/${program}`, { url: origin, path: '/healthz', isHealthy });
  return found.state === 'ok' ? { ...found, detail: url } : found;
}

/** The embedded Postgres: whether a server answers at its port as Postgres does. */
async function postgresState(folder: string): Promise<Part> {
  const { ports } = dataPaths(folder);
  const { postgres: port } = readJson<{ readonly postgres?: number }>(ports) ?? {};
  const part = 'postgres';
  if (port === undefined) return { part, state: 'unknown', detail: `${ports} names no port of it` };
  const socket = connect({ host: '127.0.0.1', port, timeout: ANSWER_MS });
  try {
    await once(socket, 'connect');
    socket.write(SSL_REQUEST);
    const answer = once(socket, 'data').then(([data]: Buffer[]) => data?.toString('latin1'));
    const silence = once(socket, 'timeout').then(() => undefined);
    const said = await Promise.race([answer, silence]);
    return /^[NS]/.test(said ?? '')
      ? { part, state: 'ok', detail: `127.0.0.1:${port}` }
      : { part, state: 'unreachable', detail: `127.0.0.1:${port} does not answer as Postgres does` };
  } catch (error) {
    return { part, state: 'unreachable', detail: errorText(error) };
  } finally {
    socket.destroy();
  }
}

/** The REST interface for other machines, as they see it; its certificate is the one that is shown. */
async function tlsState({ url, certificate }: TlsAddress): Promise<Part> {
  const part = 'rest/tls';
  try {
    const shown = await certificateOf(url);
    const left = Math.floor((shown.validTo.getTime() - systemClock.now().getTime()) / DAY_MS);
    const detail = `${url}, SHA-256 ${shown.fingerprint}, ${certificate}`;
    if (left < 0)
      return { part, state: 'expired', detail: `the certificate ended ${-left} days ago: ${detail}` };
    return { part, state: 'ok', detail: `${detail}, ends in ${left} days` };
  } catch (error) {
    return { part, state: 'unreachable', detail: `${url}: ${errorText(error)}` };
  }
}

/** Certificate that the server shows, whoever made it. */
async function certificateOf(url: string): Promise<{ readonly fingerprint: string; readonly validTo: Date }> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  // it is looked at, and nothing is sent
  const socket = connectTls({ host, port: Number(port), rejectUnauthorized: false, timeout: ANSWER_MS });
  try {
    const silence = once(socket, 'timeout').then(() => {
      throw new Error('no answer within 3 s');
    });
    await Promise.race([once(socket, 'secureConnect'), silence]);
    const { fingerprint256, valid_to: validTo } = socket.getPeerCertificate();
    return { fingerprint: fingerprint256, validTo: new Date(validTo) };
  } finally {
    socket.destroy();
  }
}

/** Warnings of the api for an administrator; a line of its own reports that it cannot be reached. */
async function warningParts(rest: RestAccess): Promise<readonly Part[]> {
  const part = (detail: string): Part => ({ part: 'rest/warning', state: 'warning', detail });
  try {
    return (await readWarnings(new RestClient(rest, { timeoutMs: ANSWER_MS }))).map(part);
  } catch (error) {
    return error instanceof RestUnreachableError ? [] : [part(errorText(error))];
  }
}

/** Nodes, listeners and deployments as the API server knows them. */
async function resourceStates(kubeconfig: string): Promise<Part[]> {
  try {
    const connection = await loadKubeConnection({ kubeconfigPath: kubeconfig });
    const client = new KubeClient(connection, { timeoutMs: 5000 });
    const { namespace } = connection;
    const [nodes, listeners, deployments] = await Promise.all([
      client.list(NODES),
      client.list(RESOURCES.Listener, { namespace }),
      client.list(RESOURCES.AgentDeployment, { namespace }),
    ]);
    await client.close();
    const stateOf = (
      kind: string,
      { metadata, status }: (typeof deployments.items)[number] | (typeof listeners.items)[number],
    ): Part => {
      const ready = findCondition(status?.conditions, CONDITION.ready);
      return {
        part: `${kind}/${metadata.name}`,
        state: ready?.status === 'True' ? 'ready' : (ready?.reason ?? 'pending'),
        detail: ready?.status === 'True' ? '' : (ready?.message ?? ''),
      };
    };
    return [
      { part: 'kubernetes', state: 'ok', detail: connection.server },
      ...nodes.items.map((node): Part => {
        const { metadata, status } = node;
        const ready = status?.conditions?.some(
          ({ type, status: is }) => type === CONDITION.ready && is === 'True',
        );
        return {
          part: `node/${metadata.name}`,
          state: ready ? 'ready' : 'NotReady',
          detail: nodeWarnings(node).join('; '),
        };
      }),
      ...listeners.items.map((item) => stateOf('listener', item)),
      ...deployments.items.map((item) => stateOf('deployment', item)),
    ];
  } catch (error) {
    return [{ part: 'kubernetes', state: 'unreachable', detail: errorText(error) }];
  }
}

const SHAPE: Shape<Part> = {
  nameOf: ({ part }) => part,
  columns: [
    { heading: 'PART', cell: ({ part }) => part },
    { heading: 'STATE', cell: ({ state }) => state },
    { heading: 'DETAIL', cell: ({ detail }) => detail },
  ],
};

const HEALTHY: ReadonlySet<string> = new Set(['ok', 'ready', 'warning']);

/** `agentplane status`: what runs of a platform. Exit code 0 when everything that should be is ready. */
export async function printStatus({
  output,
  trust = false,
  ...flags
}: TargetFlags & { readonly output: OutputFormat; readonly trust?: boolean }): Promise<Ended> {
  const target = resolveTarget(flags);
  if (trust) return await printTrust(target, output);
  const parts = await readParts(target);
  process.stdout.write(await renderItems(output, parts, SHAPE));
  return parts.every(({ state }) => HEALTHY.has(state)) ? EXIT.ok : EXIT.failed;
}

/** Every part of a platform, as far as its target reaches. */
export async function readParts({ local, rest, kubeconfig }: Target): Promise<readonly Part[]> {
  const groups = await Promise.all([
    local ? [{ part: 'supervisor', state: 'ok', detail: `process ${local.supervisorPid}` }] : [],
    local ? diskState(local.root) : [],
    local ? postgresState(local.root) : [],
    serverState('rest', {
      url: rest.url,
      caFile: rest.caFile,
      path: '/ok',
      isHealthy: (code) => code === 200,
    }),
    warningParts(rest),
    local?.credentials.tls ? tlsState(local.credentials.tls) : [],
    local ? serverState('object-store', { url: local.credentials.objectStore.endpoint }) : [],
    ...Object.entries(local?.credentials.metrics ?? {}).map(([program, url]) => metricsState(program, url)),
    kubeconfig === undefined ? [] : resourceStates(kubeconfig),
  ]);
  return groups.flat();
}
