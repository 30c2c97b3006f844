import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { visibleText } from '#lib/command-line';
import { dataPaths, findRunningPlatform, INSTALLATION, nothingRuns } from '#lib/data-folder';
import { WaitingError } from '#lib/errors';
import {
  findSecretFiles,
  hasLockFile,
  type ImageStore,
  openImageStore,
  secretsLeftOut,
  type StoredImage,
  workspaceNames,
} from '#lib/image-store';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { type AgentDeployment, type ObjectKey, RESOURCES, workspaceNamespace } from '#lib/resources';
import { type Clock, systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { waitForRollout, type Wanted } from '../deploy/deploy-command.js';
import { type OutputFormat, print, renderItems, type Shape } from '../output/print-items.js';
import { thisProgram } from '../this-program.js';
import { checkGraphs } from './check-graphs.js';

/** Names that have no Workspace. */
async function missingWorkspaces(
  names: readonly string[],
  kubeconfigPath: string,
): Promise<readonly string[]> {
  if (names.length === 0) return [];
  const client = new KubeClient(await loadKubeConnection({ kubeconfigPath }), { timeoutMs: 10_000 });
  try {
    const { items } = await client.list(RESOURCES.Workspace);
    return names.filter((name) => !items.some(({ metadata }) => metadata.name === name));
  } finally {
    await client.close();
  }
}

/** A revision that was asked for. */
interface Asked extends Wanted {
  readonly key: ObjectKey;
}

/** The deployments of one image in the namespace of a kubeconfig. */
class ImageDeployments {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly names: readonly string[];
  /** Deployments that have no pods until they are resumed. */
  readonly #suspended: ReadonlySet<string>;

  private constructor(client: KubeClient, namespace: string, deployments: readonly AgentDeployment[]) {
    this.#client = client;
    this.#namespace = namespace;
    this.names = deployments.map(({ metadata }) => metadata.name);
    const suspended = deployments.filter(({ spec }) => spec.suspend);
    this.#suspended = new Set(suspended.map(({ metadata }) => metadata.name));
  }

  /** @param owners the namespaces that have the image; undefined for all. Deployments of others would find none */
  static async find(
    image: string,
    kubeconfigPath: string,
    owners: readonly string[] | undefined,
  ): Promise<ImageDeployments> {
    const connection = await loadKubeConnection({ kubeconfigPath });
    const { namespace } = connection;
    const client = new KubeClient(connection, { timeoutMs: 10_000 });
    const isOwner = owners?.includes(namespace) ?? true;
    const { items } = isOwner ? await client.list(RESOURCES.AgentDeployment, { namespace }) : { items: [] };
    const named = items.filter(({ spec }) => spec.sourceRevisionConfig?.imageUri === image);
    return new ImageDeployments(client, namespace, named);
  }

  /** Asks for a new revision of each; what to wait for. */
  async deploy(clock: Clock): Promise<readonly Asked[]> {
    const asked: Asked[] = [];
    for (const name of this.names) {
      // an earlier request may name a revision to repeat
      const revisionRequest = { id: randomUUID(), at: clock.now().toISOString(), fromRevisionId: null };
      const key = { namespace: this.#namespace, name };
      const changed = await this.#client.merge(RESOURCES.AgentDeployment, key, { spec: { revisionRequest } });
      const generation = changed.metadata.generation ?? 1;
      asked.push({ key, generation, revisionRequestId: revisionRequest.id });
    }
    return asked;
  }

  /**
   * Waits until each serves its new revision, and prints where; one that is suspended is not waited for.
   * @throws CommandError for the first that fails
   */
  async wait(asked: readonly Asked[], timeoutMs: number): Promise<void> {
    for (const one of asked) {
      const { name } = one.key;
      if (this.#suspended.has(name)) {
        process.stderr.write(`${name} is suspended: "agentplane resume ${name}" starts its new revision\n`);
        continue;
      }
      const { revision, url } = await waitForRollout(this.#client, one.key, one, {
        timeoutMs,
        onProgress: (message) => process.stderr.write(`${name}: ${visibleText(message)}\n`),
      });
      print(`${revision} serves at ${url}\n`);
    }
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

const SHAPE: Shape<StoredImage> = {
  nameOf: ({ name }) => name,
  columns: [
    { heading: 'NAME', cell: ({ name }) => name },
    { heading: 'DIGEST', cell: ({ digest }) => digest.slice(0, 19) },
    {
      heading: 'WORKSPACES',
      cell: ({ namespaces }) => (namespaces ? workspaceNames(namespaces) : '<all>'),
    },
    { heading: 'IMPORTED', cell: ({ importedAt }) => importedAt },
    { heading: 'REFERENCE', isWide: true, cell: ({ reference }) => reference },
  ],
};

interface AddFlags {
  readonly data: string;
  readonly deploy?: boolean;
  readonly buildPackages?: boolean;
  readonly workspace?: readonly string[];
  readonly wait?: boolean;
  readonly timeout: number;
}

/** `agentplane image add NAME FOLDER`: takes a folder into the image store; the exit code. */
export async function addImage(name: string, folder: string, flags: AddFlags): Promise<void> {
  const { data, deploy = false } = flags;
  const { root } = dataPaths(data);
  const platform = findRunningPlatform(data);
  // in a wrong folder a store would be made that no platform reads
  if (!existsSync(root) || (deploy && !platform))
    throw new CommandError('unreachable', nothingRuns(data).trimEnd());
  const image = await takeFolder(name, folder, flags);
  await warnOfOwners(image, flags, platform?.credentials.kubeconfig);
  const next = platform && (await offerToDeployments(image, platform.credentials.kubeconfig, flags));
  if (!next) print(`${useOf(image)}\n`);
}

/** Takes the folder into the store, and prints what it is called there. */
async function takeFolder(
  name: string,
  folder: string,
  { data, buildPackages = false, workspace = [] }: AddFlags,
): Promise<StoredImage> {
  try {
    await checkGraphs(resolve(folder));
    const image = await openStore(data).import(name, resolve(folder), {
      ...(workspace.length > 0 ? { namespaces: workspace.map(workspaceNamespace) } : {}),
      builds: buildPackages,
      onInstall: () => process.stderr.write('Installing its dependencies …\n'),
      onLine: showProgress,
    });
    process.stdout.write(`${image.reference}\n`);
    for (const note of image.notes) process.stderr.write(`Note: ${visibleText(note)}\n`);
    warnOfUnlocked(folder);
    warnOfSecrets(name, folder);
    return image;
  } catch (error) {
    // a script may run the same again after this code
    const exit = error instanceof WaitingError ? 'unreachable' : 'failed';
    throw new CommandError(exit, `adding ${folder} failed`, { cause: error });
  }
}

function openStore(data: string): ImageStore {
  const { images } = dataPaths(data);
  return openImageStore({ folder: images, installation: INSTALLATION, clock: systemClock });
}

/** Lines of pip that say how far it is; indexes of packages choose words in them. */
function showProgress(line: string): void {
  if (/^(Collecting|Downloading|Installing|Building) /.test(line.trim()))
    process.stderr.write(`  ${visibleText(line.trim())}\n`);
}

/** Prints what becomes of the deployments that name the image; false when there are none. */
async function offerToDeployments(
  { name, namespaces }: StoredImage,
  kubeconfigPath: string,
  { deploy = false, wait = true, timeout }: AddFlags,
): Promise<boolean> {
  const deployments = await ImageDeployments.find(name, kubeconfigPath, namespaces);
  try {
    const { names } = deployments;
    if (names.length === 0) return false;
    if (!deploy) {
      print(
        `${names.join(', ')} ${names.length === 1 ? 'keeps' : 'keep'} the image as it was; --deploy makes new revisions.\n`,
      );
      return true;
    }
    const asked = await deployments.deploy(systemClock);
    print(names.map((one) => `agentdeployment/${one} gets a new revision\n`).join(''));
    if (wait) await deployments.wait(asked, timeout);
    return true;
  } finally {
    await deployments.close();
  }
}

function useOf({ name, namespaces }: StoredImage): string {
  const use = `Use it as "imageUri: ${name}" in an AgentDeployment`;
  if (namespaces) return `${use} of workspace ${workspaceNames(namespaces)}.`;
  return `${use}, or deploy it: ${thisProgram()} deploy ${name}`;
}

/** Warns about an effect that was not explicitly asked for: the namespaces that have the image now. */
async function warnOfOwners(
  { name, digest, namespaces }: StoredImage,
  { data, workspace: workspaces = [] }: AddFlags,
  kubeconfigPath: string | undefined,
): Promise<void> {
  const note = (text: string): boolean => process.stderr.write(`Note: ${text}\n`);
  if (namespaces && workspaces.length === 0)
    note(`${name} stays an image of workspace ${workspaceNames(namespaces)}.`);
  if (!namespaces)
    for (const other of await openStore(data).list())
      if (other.digest === digest && other.namespaces)
        note(
          `${other.name} of workspace ${workspaceNames(other.namespaces)} has the same content, which is open to every workspace now.`,
        );
  const missing = kubeconfigPath === undefined ? [] : await missingWorkspaces(workspaces, kubeconfigPath);
  if (missing.length > 0)
    note(`workspace ${missing.join(', ')} does not exist; the image is kept for one of that name.`);
}

/** Without a lock file nothing is installed, which shows only when the graph is loaded. */
function warnOfUnlocked(folder: string): void {
  const path = join(folder, 'package.json');
  if (!existsSync(path)) return;
  if (hasLockFile(folder)) return;
  const { dependencies = {} } = JSON.parse(readFileSync(path, 'utf8')) as { dependencies?: object };
  if (Object.keys(dependencies).length === 0) return;
  process.stderr.write(
    'Note: there is no lock file, so the dependencies of package.json were not installed; ' +
      'the agent runs with the packages of the platform. Make one with "npm install --package-lock-only".\n',
  );
}

/** Prints which files with secrets the image has, and which it has not: an agent without its keys fails later. */
function warnOfSecrets(name: string, folder: string): void {
  const leavesOut = secretsLeftOut(folder);
  const found = findSecretFiles(folder);
  const shown = (paths: readonly string[]): string =>
    visibleText(paths.join(', ')).replaceAll(/[\n\t]/g, ' ');
  const [out, kept] = [found.filter(leavesOut), found.filter((path) => !leavesOut(path))];
  if (out.length > 0)
    process.stderr.write(
      `Left out, since they tend to hold secrets: ${shown(out)}. "agentplane secrets set ${name} -f ${shown([join(folder, '.env')])}" gives an agent its keys; a line "!NAME" of .dockerignore takes a file along.\n`,
    );
  if (kept.length > 0)
    process.stderr.write(
      `Note: ${shown(kept)} is copied into the image; anyone who can run the image can read it.\n`,
    );
}

/** `agentplane image list`. */
export async function listImages(data: string, format: OutputFormat): Promise<void> {
  if (!existsSync(dataPaths(data).root)) throw new CommandError('unreachable', nothingRuns(data).trimEnd());
  const images = await openStore(data).list();
  if (images.length === 0 && (format.kind === 'table' || format.kind === 'wide'))
    process.stderr.write('No images found; "agentplane image add NAME FOLDER" adds one.\n');
  else process.stdout.write(await renderItems(format, images, SHAPE));
}

/** `agentplane image remove NAME`: takes a name out of the image store; the exit code. */
export async function removeImage(name: string, data: string): Promise<void> {
  const { root, images } = dataPaths(data);
  if (!existsSync(root)) throw new CommandError('unreachable', nothingRuns(data).trimEnd());
  const store = openImageStore({ folder: images, installation: INSTALLATION, clock: systemClock });
  const image = await store.find(name);
  if (!image)
    throw new CommandError(
      'failed',
      `image ${name} does not exist; "agentplane image list" shows those that do`,
    );
  const platform = findRunningPlatform(data);
  const users = platform ? await deploymentsOf(image, platform.credentials.kubeconfig) : [];
  if (users.length > 0)
    throw new CommandError(
      'failed',
      `image ${name} is named by ${users.join(', ')}; delete ${users.length === 1 ? 'this deployment' : 'these deployments'} or name another image there`,
    );
  await store.remove(name);
  process.stdout.write(`image ${name} removed\n`);
  process.stderr.write(
    'Its files are removed some minutes after the last revision that runs them, while the platform is running.\n',
  );
}

/** `NAMESPACE/NAME` of the deployments that would find no such image any more. */
async function deploymentsOf(
  { name, namespaces }: { readonly name: string; readonly namespaces?: readonly string[] },
  kubeconfigPath: string,
): Promise<readonly string[]> {
  const client = new KubeClient(await loadKubeConnection({ kubeconfigPath }), { timeoutMs: 10_000 });
  try {
    const { items } = await client.list(RESOURCES.AgentDeployment);
    return items
      .filter(({ spec }) => spec.sourceRevisionConfig?.imageUri?.replace(/^local\//, '') === name)
      .filter(({ metadata: { namespace = '' } }) => namespaces?.includes(namespace) ?? true)
      .map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`);
  } finally {
    await client.close();
  }
}
