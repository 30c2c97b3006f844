import { dataPaths, type Ports, readJson, type RunningPlatform } from '#lib/data-folder';
import { embeddedDatabases } from '#lib/embedded-postgres';
import { isNotFound, KubeClient, loadKubeConnection } from '#lib/kube';
import { RESOURCES } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { type ApiKeys, openTraceStore } from '#lib/trace-store';

/** The API keys of one workspace. */
export interface WorkspaceKeys {
  readonly tenantId: string;
  readonly apiKeys: ApiKeys;
  close(): Promise<void>;
}

/** The tenant of a workspace, by its name. */
async function tenantOf(workspace: string, kubeconfigPath: string): Promise<string> {
  const client = new KubeClient(await loadKubeConnection({ kubeconfigPath }), { timeoutMs: 10_000 });
  try {
    return (await client.get(RESOURCES.Workspace, { name: workspace })).spec.tenantId;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new Error(`there is no Workspace ${workspace}: "kubectl get wsp" lists them`, { cause: error });
  } finally {
    await client.close();
  }
}

/** Opens the keys of a workspace of the platform that runs over the data folder: keys lie in its database alone. */
export async function openKeys(
  { credentials }: RunningPlatform,
  { data, workspace }: { readonly data: string; readonly workspace: string },
): Promise<WorkspaceKeys> {
  const paths = dataPaths(data);
  const tenantId = await tenantOf(workspace, credentials.kubeconfig);
  const { postgres: port } = readJson<Ports>(paths.ports) ?? {};
  if (port === undefined) throw new Error(`${paths.ports} names no port of Postgres`);
  const uri = await embeddedDatabases({ dataDir: paths.root, port }).ensureDatabase({
    ...{ database: 'agentplane', role: 'agentplane', connectionLimit: 60 },
  });
  const store = openTraceStore({
    ...{ uri, poolSize: 1, clock: systemClock },
    log: createLogger('keys', 'silent'),
  });
  return { tenantId, apiKeys: store.apiKeys, close: () => store.close() };
}
