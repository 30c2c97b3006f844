import { errorText } from '#lib/errors';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { EXIT } from '#lib/lifecycle';
import { CONDITION, findCondition, RESOURCES } from '#lib/resources';
import type { OutputFormat } from '../output-format.js';
import { printTable } from '../output.js';
import { findRunningPlatform, nothingRuns } from '../running-platform.js';

interface Part {
  readonly part: string;
  readonly state: string;
  readonly detail: string;
}

async function restState(url: string): Promise<Part> {
  try {
    const answer = await fetch(`${url}/ok`, { signal: AbortSignal.timeout(3000) });
    return { part: 'rest', state: answer.ok ? 'ok' : `HTTP ${answer.status}`, detail: url };
  } catch (error) {
    return { part: 'rest', state: 'unreachable', detail: errorText(error) };
  }
}

/** Listeners and deployments as the API server knows them. */
async function resourceStates(kubeconfig: string): Promise<Part[]> {
  try {
    const connection = await loadKubeConnection({ kubeconfigPath: kubeconfig });
    const client = new KubeClient(connection, { timeoutMs: 5000 });
    const { namespace } = connection;
    const [listeners, deployments] = await Promise.all([
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
    await restState(credentials.restUrl),
    ...(await resourceStates(credentials.kubeconfig)),
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
