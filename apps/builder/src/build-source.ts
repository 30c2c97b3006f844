import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { INSTALLATION, packagesOf } from '#lib/data-folder';
import {
  findPackageManager,
  hasLockFile,
  keepGraphTypes,
  readManifest,
  withDevelopment,
} from '#lib/image-store';
import { sendSignal, statFields } from '#lib/process-identity';
import { BuildError } from './build-error.js';
import { type BuilderConfig, maxFileBytes } from './config.js';
import { sourceFolder } from './fetch-source.js';
import { print } from './print.js';
import { PythonBuild } from './python/python-build.js';
import { type Command, runCommand } from './run-command.js';

/** Processes that fork while they are killed are found in the next round. */
const MAX_ROUNDS = 50;

/**
 * Kills all of the process group of this program but itself, where it leads one, as in a container; on Linux
 * only. Processes that have left the group end with the container.
 */
export function endGroup(): void {
  if (process.platform !== 'linux' || groupOf(process.pid) !== process.pid) return;
  const killed = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const found = readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0 && pid !== process.pid && !killed.has(pid) && groupOf(pid) === process.pid);
    if (found.length === 0) return;
    for (const pid of found) {
      killed.add(pid);
      try {
        sendSignal(pid, 'SIGKILL', false);
      } catch {
        // it has ended, or another user's rights
      }
    }
  }
}

function groupOf(pid: number): number | undefined {
  try {
    const [, , group] = statFields(readFileSync(`/proc/${pid}/stat`, 'latin1'));
    return Number(group);
  } catch {
    return undefined;
  }
}

type Common = Required<Pick<Command, 'signal' | 'maxFileBytes'>>;

/** Exit code of a shell whose last command was ended by the limit on the size of files. */
const FILE_TOO_LARGE = 128 + constants.signals.SIGXFSZ;

/**
 * Installs and builds what was fetched. The install command runs in the root of the repository, the build command in the
 * folder of the graph configuration. Ends when the signal is aborted.
 * @throws BuildError when a command fails
 */
export async function buildSource(config: BuilderConfig, signal: AbortSignal): Promise<void> {
  const root = sourceFolder();
  const agent = join(root, dirname(config.graphConfig));
  const { installCommand, buildCommand } = config;
  const common = { signal, maxFileBytes: maxFileBytes(config) };
  const configuration = join(root, config.graphConfig);
  const python = await PythonBuild.begin(configuration, common, {
    hasOwnInstall: installCommand !== undefined,
  });
  if (installCommand !== undefined)
    await shell('install command', { text: installCommand, folder: root, ...common });
  else if (python) await python.install();
  else await install(root, agent, { isBuilt: buildCommand !== undefined, ...common });
  if (buildCommand !== undefined)
    await shell('build command', { text: buildCommand, folder: agent, ...common });
  // a command may have written the configuration
  const built = python ?? PythonBuild.find(configuration, common);
  if (built) await built.close();
  else await describe(configuration, root);
  print('built');
}

/** Keeps the types of graphs; packages of an agent without a lock file are the platform's. */
async function describe(configuration: string, root: string): Promise<void> {
  // a build command that wrote no configuration is reported when the result is taken
  if (!existsSync(configuration)) return;
  for (const note of await keepGraphTypes(configuration, [root, packagesOf(INSTALLATION)], { isFinal: true }))
    print(`note: ${note}`);
}

/** Installs by the lock file of the root, else by that of the agent's folder, else nothing. */
async function install(
  root: string,
  agent: string,
  { isBuilt, ...common }: Common & { readonly isBuilt: boolean },
): Promise<void> {
  const folder = [root, agent].find(hasLockFile);
  if (folder === undefined) return print('no lock file: the packages of the platform are used');
  const found = findPackageManager(folder, readManifest(folder) ?? {});
  if (!found) return;
  const manager = isBuilt ? withDevelopment(found) : found;
  const version = manager.version === undefined ? '' : ` ${manager.version}`;
  print(`installing what ${manager.lockFile} names with ${manager.name}${version}`);
  const { args, environment } = manager;
  await perform(`${manager.name} could not install what ${manager.lockFile} names`, {
    program: 'npm',
    args,
    folder,
    environment,
    ...common,
  });
}

async function shell(
  what: string,
  { text, ...command }: Common & { readonly text: string; readonly folder: string },
): Promise<void> {
  print(`${what}: ${text}`);
  await perform(`${what} failed`, { program: '/bin/sh', args: ['-c', text], ...command });
}

async function perform(trouble: string, command: Command): Promise<void> {
  const code = await runCommand(command);
  const large =
    code === FILE_TOO_LARGE
      ? ` (a file of more than ${Math.floor(command.maxFileBytes / 1_048_576)} MB)`
      : '';
  if (code !== 0)
    throw new BuildError(`${trouble}: exit code ${code}${large}; its output is in the log of the build`);
}
