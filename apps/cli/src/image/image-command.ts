import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { dataPaths, findRunningPlatform, INSTALLATION, nothingRuns } from '#lib/data-folder';
import { errorText } from '#lib/errors';
import { openImageStore, type StoredImage } from '#lib/image-store';
import { EXIT } from '#lib/lifecycle';
import { systemClock } from '#lib/time';
import type { OutputFormat } from '../output-format.js';
import { printTable } from '../output.js';
import { ImageDeployments } from './deploy-image.js';

const COLUMNS = ['NAME', 'DIGEST', 'IMPORTED'];

function rowOf({ name, digest, importedAt }: StoredImage): string[] {
  return [name, digest.slice(0, 19), importedAt];
}

/** `agentplane image add NAME FOLDER`: takes a folder into the image store; the exit code. */
export async function addImage(
  name: string,
  folder: string,
  { data, deploy = false }: { readonly data: string; readonly deploy?: boolean },
): Promise<number> {
  const { root, images } = dataPaths(data);
  const platform = findRunningPlatform(data);
  // a store that nobody reads would be made, by somebody in the wrong folder
  if (!existsSync(root) || (deploy && !platform)) {
    process.stderr.write(nothingRuns(data));
    return EXIT.failed;
  }
  try {
    const store = openImageStore({ folder: images, installation: INSTALLATION, clock: systemClock });
    const { reference } = await store.import(name, resolve(folder), () =>
      process.stderr.write('Installing the dependencies of its lock file …\n'),
    );
    process.stdout.write(`${reference}\n`);
    warnOfUnlocked(folder);
    const next = platform && (await tellDeployments(name, platform.credentials.kubeconfig, deploy));
    process.stdout.write(next ?? `Use it as "imageUri: ${name}" in an AgentDeployment.\n`);
    return EXIT.ok;
  } catch (error) {
    process.stderr.write(`${folder} was not added: ${errorText(error)}\n`);
    return EXIT.failed;
  }
}

/** What becomes of the deployments that name the image; undefined when there are none. */
async function tellDeployments(
  name: string,
  kubeconfigPath: string,
  deploy: boolean,
): Promise<string | undefined> {
  const deployments = await ImageDeployments.find(name, kubeconfigPath);
  try {
    const { names } = deployments;
    if (names.length === 0) return undefined;
    if (!deploy)
      return `${names.join(', ')} ${names.length === 1 ? 'runs' : 'run'} on with the image as it was; --deploy makes new revisions.\n`;
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
  if (['package-lock.json', 'npm-shrinkwrap.json'].some((name) => existsSync(join(folder, name)))) return;
  const { dependencies = {} } = JSON.parse(readFileSync(path, 'utf8')) as { dependencies?: object };
  if (Object.keys(dependencies).length === 0) return;
  process.stderr.write(
    'Note: there is no package-lock.json, so the dependencies of package.json were not installed; ' +
      'the agent runs with the packages of the platform. Make one with "npm install --package-lock-only".\n',
  );
}

/** `agentplane image list`. */
export async function listImages(data: string, format: OutputFormat): Promise<number> {
  if (!existsSync(dataPaths(data).root)) {
    process.stderr.write(nothingRuns(data));
    return EXIT.failed;
  }
  const store = openImageStore({
    folder: dataPaths(data).images,
    installation: INSTALLATION,
    clock: systemClock,
  });
  const images = await store.list();
  if (images.length === 0 && format === 'table')
    process.stderr.write('No images yet: "agentplane image add NAME FOLDER" takes one in.\n');
  else process.stdout.write(printTable(format, images, COLUMNS, rowOf));
  return EXIT.ok;
}
