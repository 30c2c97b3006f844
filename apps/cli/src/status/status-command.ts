import { errorText } from '#lib/errors';
import { findDiskTrouble } from '#lib/data-folder';
import { isJsonObject } from '#lib/json';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { EXIT } from '#lib/lifecycle';
import { CONDITION, findCondition, NODES, PODS_RUN_AS_ROOT, RESOURCES } from '#lib/resources';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import type { OutputFormat } from '../output/output-format.js';
import { renderItems, type Shape } from '../output/print-items.js';

interface Part {
  readonly part: string;
  readonly state: string;
  readonly detail: string;
}

/** @param isHealthy what the status means; an object store that refuses anonymous requests is healthy */
async function serverState(
  part: string,
  {
    url,
    path = '',
    isHealthy = () => true,
  }: { url: string; path?: string; isHealthy?: (code: number) => boolean },
): Promise<Part> {
  try {
    const response = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(3000) });
    const { status } = response;
    const trouble = isHealthy(status) ? await troubleIn(response) : undefined;
    if (trouble !== undefined) return { part, state: 'degraded', detail: trouble };
    return { part, state: isHealthy(status) ? 'ok' : `HTTP ${status}`, detail: url };
  } catch (error) {
    return { part, state: 'unreachable', detail: errorText(error) };
  }
}

/** What a server that works reports of itself all the same. */
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
  const found = await serverState(`metrics/${program}`, { url: origin, path: '/healthz', isHealthy });
  return found.state === 'ok' ? { ...found, detail: url } : found;
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
        const ready = status?.conditions?.some(
          ({ type, status: is }) => type === CONDITION.ready && is === 'True',
        );
        const open = status?.conditions?.find(
          ({ type, status: is }) => type === PODS_RUN_AS_ROOT && is === 'True',
        );
        return {
          part: `node/${metadata.name}`,
          state: ready ? 'ready' : 'NotReady',
          detail: open?.message ?? '',
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

/** `agentplane status`: what runs of a platform. Exit code 0 when everything that should be is ready. */
export async function printStatus({
  output,
  ...flags
}: TargetFlags & { readonly output: OutputFormat }): Promise<number> {
  const { local, rest, kubeconfig } = resolveTarget(flags);
  const groups = await Promise.all([
    local ? [{ part: 'supervisor', state: 'ok', detail: `process ${local.supervisorPid}` }] : [],
    local ? diskState(local.root) : [],
    serverState('rest', { url: rest.url, path: '/ok', isHealthy: (code) => code === 200 }),
    local ? serverState('object-store', { url: local.credentials.objectStore.endpoint }) : [],
    ...Object.entries(local?.credentials.metrics ?? {}).map(([program, url]) => metricsState(program, url)),
    kubeconfig === undefined ? [] : resourceStates(kubeconfig),
  ]);
  const parts: readonly Part[] = groups.flat();
  process.stdout.write(await renderItems(output, parts, SHAPE));
  return parts.every(({ state }) => state === 'ok' || state === 'ready') ? EXIT.ok : EXIT.failed;
}
