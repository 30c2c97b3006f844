import { findRunningPlatform, nothingRuns } from '#lib/data-folder';
import { errorText } from '#lib/errors';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { EXIT } from '#lib/lifecycle';
import { CONDITION, findCondition, NODES, RESOURCES } from '#lib/resources';
import type { OutputFormat } from '../output-format.js';
import { printTable } from '../output.js';

interface Part {
  readonly part: string;
  readonly state: string;
  readonly detail: string;
}

/** @param isWell what an answer says; a store that refuses strangers is well */
async function serverState(
  part: string,
  { url, path = '', isWell = () => true }: { url: string; path?: string; isWell?: (code: number) => boolean },
): Promise<Part> {
  try {
    const { status } = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(3000) });
    return { part, state: isWell(status) ? 'ok' : `HTTP ${status}`, detail: url };
  } catch (error) {
    return { part, state: 'unreachable', detail: errorText(error) };
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
      ...nodes.items.map(({ metadata, status }): Part => {
        const ready = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
        return { part: `node/${metadata.name}`, state: ready ? 'ready' : 'NotReady', detail: '' };
      }),
      ...listeners.items.map((item) => stateOf('listener', item)),
      ...deployments.items.map((item) => stateOf('deployment', item)),
    ];
  } catch (error) {
    return [{ part: 'kubernetes', state: 'unreachable', detail: errorText(error) }];
  }
}

/** `agentplane status`: what runs of the platform over a data folder. Exit code 0 when everything that should be is ready. */
export async function printStatus(data: string, format: OutputFormat): Promise<number> {
  const platform = findRunningPlatform(data);
  if (!platform) {
    process.stderr.write(nothingRuns(data));
    return EXIT.failed;
  }
  const { supervisorPid, credentials } = platform;
  const parts: Part[] = [
    { part: 'supervisor', state: 'ok', detail: `process ${supervisorPid}` },
    ...(
      await Promise.all([
        serverState('rest', { url: credentials.restUrl, path: '/ok', isWell: (code) => code === 200 }),
        serverState('object-store', { url: credentials.objectStore.endpoint }),
        resourceStates(credentials.kubeconfig),
      ])
    ).flat(),
  ];
  process.stdout.write(
    printTable(format, parts, ['PART', 'STATE', 'DETAIL'], ({ part, state, detail }) => [
      part,
      state,
      detail,
    ]),
  );
  return parts.every(({ state }) => state === 'ok' || state === 'ready') ? EXIT.ok : EXIT.failed;
}
