import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { CONDITION, DEFAULT_LISTENER, isConditionTrue, RESOURCES, SECRETS } from '#lib/resources';
import { stopWithProcess, waitFor } from '#lib/testing';
import {
  type Credentials,
  newDataFolder,
  type Platform,
  removeDataFolder,
  startPlatform,
} from './platform.js';
import { Rest } from './rest.js';
import { makeWorkspace, type Workspace } from './workspace.js';

/** A new workspace of the platform that the test files of a process share. Usable once `beforeAll` has run. */
export interface SharedPlatform extends Pick<Platform, 'credentials' | 'dataFolder' | 'process'> {
  /** Name of the workspace. */
  readonly workspace: string;
  readonly namespace: string;
}

const FIRST_WORKSPACE = 'default';
/** The destination of the first workspace, which leads to the embedded object store. */
const LOCAL = { namespace: 'ws-default', name: 'local' };
const LOCAL_KEYS = { namespace: 'ws-default', name: 'local-destination' };

/** One that waits costs some 3 % of a processor. Files that need one run one after another, before all others. */
const MAX_IDLE_MS = 20_000;

/** The platform that the files of this process share, while it is up. */
let shared: Platform | undefined;
let idle: NodeJS.Timeout | undefined;
let users = 0;
let made = 0;

/**
 * A workspace for the test file that calls this, at its top or in a `describe`. Like the first workspace of a platform it
 * has a listener, a key named `first key` and the destination `local`. `credentials` have its key, its tenant and a
 * kubeconfig with its namespace; `dataFolder` is the platform's with these credentials, so that commands with `--data`
 * address the workspace. All workspaces but the first are deleted after the file. Names of images are not: they belong to
 * all files.
 */
export function sharedPlatform(): SharedPlatform {
  let found: SharedPlatform | undefined;
  beforeAll(async () => {
    clearTimeout(idle);
    users++;
    if (shared && !(await answers(shared))) await stop();
    shared ??= await start();
    found = await withKube(shared, async (kube, platform) => await addWorkspace(platform, kube));
  });
  afterAll(async () => {
    if (found) removeDataFolder(found.dataFolder);
    if (found && shared) await withKube(shared, deleteWorkspaces);
    found = undefined;
    if (--users === 0) idle = setTimeout(() => void stop(), MAX_IDLE_MS).unref();
  });

  function running(): SharedPlatform {
    if (!found) throw new Error('the workspace exists only inside tests and hooks');
    return found;
  }

  return {
    get workspace() {
      return running().workspace;
    },
    get namespace() {
      return running().namespace;
    },
    get credentials() {
      return running().credentials;
    },
    get dataFolder() {
      return running().dataFolder;
    },
    get process() {
      return running().process;
    },
  };
}

async function start(): Promise<Platform> {
  const environment = {
    // each workspace would load a spare process that no later start claims: platforms of single files keep them
    AGENTPLANE_SPARES: '0',
    // pushes are announced
    AGENTPLANE_BUILD_PUSH_PERIOD_MS: '600000',
  };
  const platform = await startPlatform(newDataFolder(), { environment });
  stopWithProcess(stop);
  return platform;
}

async function stop(): Promise<void> {
  const platform = shared;
  shared = undefined;
  if (!platform) return;
  await platform.stop();
  removeDataFolder(platform.dataFolder);
}

async function answers({ credentials }: Platform): Promise<boolean> {
  try {
    return (await fetch(`${credentials.restUrl}/ok`)).ok;
  } catch {
    return false;
  }
}

/** With the rights of the platform's administrator. */
async function withKube<T>(
  platform: Platform,
  act: (kube: KubeClient, platform: Platform) => Promise<T>,
): Promise<T> {
  const { kubeconfig: kubeconfigPath } = platform.credentials;
  const kube = new KubeClient(await loadKubeConnection({ kubeconfigPath }), { fieldManager: 'test' });
  try {
    return await act(kube, platform);
  } finally {
    await kube.close();
  }
}

async function addWorkspace(platform: Platform, kube: KubeClient): Promise<SharedPlatform> {
  const workspace = await makeWorkspace(platform.credentials, kube, `tested-${++made}`);
  const { name, namespace } = workspace;
  await copyDestination(kube, namespace);
  const listener = { namespace, name: DEFAULT_LISTENER };
  const destination = { namespace, name: LOCAL.name };
  await waitFor(
    async () =>
      isConditionTrue((await kube.get(RESOURCES.Listener, listener)).status?.conditions, CONDITION.ready) &&
      isConditionTrue(
        (await kube.get(RESOURCES.BulkExportDestination, destination)).status?.conditions,
        CONDITION.validated,
      ),
    { what: `the listener and the destination of workspace ${name}` },
  );
  return { workspace: name, namespace, process: platform.process, ...openFolder(platform, workspace) };
}

async function copyDestination(kube: KubeClient, namespace: string): Promise<void> {
  const { type, data } = await kube.get(SECRETS, LOCAL_KEYS);
  await kube.create(SECRETS, {
    metadata: { namespace, name: LOCAL_KEYS.name },
    ...(type === undefined ? {} : { type }),
    ...(data === undefined ? {} : { data }),
  });
  const { spec } = await kube.get(RESOURCES.BulkExportDestination, LOCAL);
  await kube.create(RESOURCES.BulkExportDestination, { metadata: { namespace, name: LOCAL.name }, spec });
}

/** A data folder of links to that of the platform, with the credentials and the kubeconfig of a workspace. */
function openFolder(
  platform: Platform,
  { apiKey, tenantId, namespace }: Workspace,
): Pick<SharedPlatform, 'dataFolder' | 'credentials'> {
  const dataFolder = newDataFolder();
  const kubeconfig = join(dataFolder, 'kubeconfig');
  const credentials = { ...platform.credentials, apiKey, tenantId, kubeconfig };
  writeFileSync(join(dataFolder, 'credentials.json'), JSON.stringify(credentials));
  const config = parse(readFileSync(platform.credentials.kubeconfig, 'utf8')) as {
    readonly contexts: readonly { readonly context: object }[];
  };
  const contexts = config.contexts.map((one) => ({ ...one, context: { ...one.context, namespace } }));
  writeFileSync(kubeconfig, stringify({ ...config, contexts }));
  for (const name of readdirSync(platform.dataFolder))
    if (!existsSync(join(dataFolder, name)))
      symlinkSync(join(platform.dataFolder, name), join(dataFolder, name));
  return { dataFolder, credentials };
}

/** A deletion that takes longer is named in the output of the tests. */
const SLOW_MS = 5_000;

/** A workspace ends after its pods. */
async function deleteWorkspaces(kube: KubeClient): Promise<void> {
  const list = async () =>
    (await kube.list(RESOURCES.Workspace)).items.filter(({ metadata }) => metadata.name !== FIRST_WORKSPACE);
  for (const { metadata } of await list()) await kube.delete(RESOURCES.Workspace, metadata);
  const isGone = async () => (await list()).length === 0;
  const what = 'the end of the workspaces';
  const left = async () =>
    JSON.stringify((await list()).map(({ metadata, status }) => [metadata, status?.conditions]));
  await waitFor(isGone, { timeoutMs: SLOW_MS, what }).catch(async () => {
    process.stderr.write(`workspaces end slowly: ${await left()}\n`);
  });
  // pods of builds get their time to end, one workspace after the other
  await waitFor(isGone, { timeoutMs: 180_000, what }).catch(async (error) => {
    throw new Error(`workspaces are left: ${await left()}`, { cause: error });
  });
}

/**
 * Has new revisions of a deployment take over once they have been ready for so long; by default at once, not after the
 * five seconds of one that names no time.
 */
export async function takeOverAfter(credentials: Credentials, name: string, seconds = 0): Promise<void> {
  const rest = new Rest(credentials);
  interface Page {
    readonly resources: readonly { readonly id: string }[];
  }
  const { body } = await rest.get<Page>(`/v2/deployments?name=${name}`);
  const path = `/v2/deployments/${body.resources[0]?.id}`;
  const { status } = await rest.patch(path, { min_ready_seconds: seconds });
  if (status !== 200) throw new Error(`${name}: min_ready_seconds was answered ${status}`);
}
