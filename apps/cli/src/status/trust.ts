import { EXIT } from '#lib/lifecycle';
import {
  type AgentDeployment,
  LABEL,
  type Node,
  NODES,
  PODS_RUN_AS_ROOT,
  PODS_SHARE_USER,
  PROCESS_RUNTIME,
  RESOURCES,
  STATEFUL_SETS,
} from '#lib/resources';
import { withKube } from '../context/open-kube.js';
import type { Target } from '../context/target.js';
import type { OutputFormat } from '../output/output-format.js';
import { renderItems, type Shape } from '../output/print-items.js';

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

const SHAPE: Shape<TrustRow> = {
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
export async function printTrust(target: Target, output: OutputFormat): Promise<number> {
  const rows = await withKube(target, async ({ client, connection: { namespace } }) => {
    const [nodes, deployments, servers] = await Promise.all([
      client.list(NODES),
      client.list(RESOURCES.AgentDeployment, { namespace }),
      client.list(STATEFUL_SETS, { namespace, labelSelector: LABEL.databaseOf }),
    ]);
    const owners = servers.items.flatMap(({ metadata }) => metadata.labels?.[LABEL.databaseOf] ?? []);
    return trustRows(deployments.items, nodes.items, owners);
  });
  process.stdout.write(await renderItems(output, rows, SHAPE));
  return EXIT.ok;
}
