import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { wholeEnvironment } from '#lib/config';
import { INSTALLATION } from '#lib/data-folder';
import { isJsonObject } from '#lib/json';
import type { KubeClient } from '#lib/kube';
import { DATABASE_KEY } from '#lib/manifests';
import { databaseSecretName, RESOURCES, SECRETS, workspaceNamespace } from '#lib/resources';

/** The agent server's own migrations: the schema is its, and no other program has a copy of it. */
const PROGRAM = join(INSTALLATION, 'dist', 'apps', 'agent-server', 'src', 'migration', 'main.js');

/**
 * Makes the tables of an agent server in a database, or brings them up to date.
 * @param uri secret; it reaches the program by its environment
 */
export async function bringUpSchema(uri: string): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM], {
    // the channel ends the program with this one
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: wholeEnvironment({ POSTGRES_URI: uri }),
  });
  let failure = '';
  child.on('message', (message) => {
    if (isJsonObject(message)) failure = String(message['failure']);
  });
  const ended = Promise.withResolvers<string>();
  child.once('error', (error) => ended.resolve(error.message));
  // its last message has been read by then
  child.once('close', (code, signal) => ended.resolve(code === 0 ? '' : `exit ${code ?? signal}`));
  const end = await ended.promise;
  if (end !== '')
    throw new Error(
      `bringing the tables of the target up to date failed: ${failure === '' ? end : failure}; nothing was copied`,
    );
}

export interface WantedDatabase {
  readonly deployment: string;
  /** Workspace in which it is looked up; all when undefined. */
  readonly workspace: string | undefined;
  /** Port of the Postgres as it runs now. */
  readonly port: string;
}

export interface MachineDatabase {
  /** URI with the deployment's own role. Secret. */
  readonly uri: string;
  /** True when the deployment is suspended when the platform is started again. */
  readonly isSuspended: boolean;
}

/**
 * The database of a deployment of this machine.
 * @throws Error that names the deployments to choose from
 */
export async function machineDatabase(
  client: KubeClient,
  { deployment, workspace, port }: WantedDatabase,
): Promise<MachineDatabase> {
  const { items } = await client.list(RESOURCES.AgentDeployment);
  const all = items.map(({ metadata: { namespace = '', name }, spec }) => ({ namespace, name, spec }));
  const found = all.filter(
    ({ namespace, name }) =>
      name === deployment && (workspace === undefined || namespace === workspaceNamespace(workspace)),
  );
  const [one, another] = found;
  if (one === undefined)
    throw new Error(
      `deployment ${deployment} does not exist ${workspace === undefined ? 'on this machine' : `in workspace ${workspace} of this machine`}; choose one of: ${all.map(({ namespace: of, name }) => `${of}/${name}`).join(', ') || 'there is none'}`,
    );
  if (another !== undefined)
    throw new Error(
      `deployment ${deployment} exists in ${found.map(({ namespace }) => namespace).join(' and ')}; name one by --workspace`,
    );
  const { namespace } = one;
  const secret = await client.find(SECRETS, { namespace, name: databaseSecretName(deployment) });
  const data = secret?.data?.[DATABASE_KEY];
  if (data === undefined)
    throw new Error(
      `deployment ${deployment} has no database on this machine yet; start the platform until it has, stop it, and repeat`,
    );
  const uri = new URL(Buffer.from(data, 'base64').toString('utf8'));
  uri.hostname = '127.0.0.1';
  uri.port = port;
  return { uri: uri.href, isSuspended: one.spec.suspend === true };
}
