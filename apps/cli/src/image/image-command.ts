import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { dataPaths, findRunningPlatform, INSTALLATION, nothingRuns } from '#lib/data-folder';
import { WaitingError } from '#lib/errors';
import { hasLockFile, openImageStore, type StoredImage } from '#lib/image-store';
import { EXIT } from '#lib/lifecycle';
import { systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import type { OutputFormat } from '../output/output-format.js';
import { renderItems, type Shape } from '../output/print-items.js';
import { checkGraphs } from './check-graphs.js';
import { ImageDeployments } from './deploy-image.js';

const SHAPE: Shape<StoredImage> = {
  nameOf: ({ name }) => name,
  columns: [
    { heading: 'NAME', cell: ({ name }) => name },
    { heading: 'DIGEST', cell: ({ digest }) => digest.slice(0, 19) },
    { heading: 'IMPORTED', cell: ({ importedAt }) => importedAt },
    { heading: 'REFERENCE', isWide: true, cell: ({ reference }) => reference },
  ],
};

/** `agentplane image add NAME FOLDER`: takes a folder into the image store; the exit code. */
export async function addImage(
  name: string,
  folder: string,
  { data, deploy = false }: { readonly data: string; readonly deploy?: boolean },
): Promise<number> {
  const { root, images } = dataPaths(data);
  const platform = findRunningPlatform(data);
  // in a wrong folder a store would be made that no platform reads
  if (!existsSync(root) || (deploy && !platform))
    throw new CommandError('unreachable', nothingRuns(data).trimEnd());
  try {
    await checkGraphs(resolve(folder));
    const store = openImageStore({ folder: images, installation: INSTALLATION, clock: systemClock });
    const { reference } = await store.import(name, resolve(folder), () =>
      process.stderr.write('Installing the dependencies of its lock file …\n'),
    );
    process.stdout.write(`${reference}\n`);
    warnOfUnlocked(folder);
    const next = platform && (await offerToDeployments(name, platform.credentials.kubeconfig, deploy));
    process.stdout.write(next ?? `Use it as "imageUri: ${name}" in an AgentDeployment.\n`);
    return EXIT.ok;
  } catch (error) {
    // a script may run the same again after this code
    const exit = error instanceof WaitingError ? 'unreachable' : 'failed';
    throw new CommandError(exit, `adding ${folder} failed`, { cause: error });
  }
}

/** What becomes of the deployments that name the image; undefined when there are none. */
async function offerToDeployments(
  name: string,
  kubeconfigPath: string,
  deploy: boolean,
): Promise<string | undefined> {
  const deployments = await ImageDeployments.find(name, kubeconfigPath);
  try {
    const { names } = deployments;
    if (names.length === 0) return undefined;
    if (!deploy)
      return `${names.join(', ')} ${names.length === 1 ? 'keeps' : 'keep'} the image as it was; --deploy makes new revisions.\n`;
    await deployments.deploy(systemClock);
    return names.map((one) => `agentdeployment/${one} gets a new revision\n`).join('');
  } finally {
    await deployments.close();
  }
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

/** `agentplane image list`. */
export async function listImages(data: string, format: OutputFormat): Promise<number> {
  if (!existsSync(dataPaths(data).root)) throw new CommandError('unreachable', nothingRuns(data).trimEnd());
  const store = openImageStore({
    folder: dataPaths(data).images,
    installation: INSTALLATION,
    clock: systemClock,
  });
  const images = await store.list();
  if (images.length === 0 && (format.kind === 'table' || format.kind === 'wide'))
    process.stderr.write('No images found; "agentplane image add NAME FOLDER" adds one.\n');
  else process.stdout.write(await renderItems(format, images, SHAPE));
  return EXIT.ok;
}
