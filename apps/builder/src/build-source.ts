import { join, dirname } from 'node:path';
import { findPackageManager, hasLockFile, readManifest, withDevelopment } from '#lib/image-store';
import { BuildError } from './build-error.js';
import type { BuilderConfig } from './config.js';
import { print, sourceFolder } from './fetch-source.js';
import { type Command, runCommand } from './run-command.js';

/**
 * Installs and builds what was fetched. The install command runs in the root of the repository, the build command in the
 * folder of the graph configuration. Ends when the signal is aborted.
 * @throws BuildError when a command fails
 */
export async function buildSource(config: BuilderConfig, signal: AbortSignal): Promise<void> {
  const root = sourceFolder();
  const agent = join(root, dirname(config.graphConfig));
  const { installCommand, buildCommand } = config;
  if (installCommand !== undefined)
    await shell('install command', { text: installCommand, folder: root, signal });
  else await install(root, agent, { isBuilt: buildCommand !== undefined, signal });
  if (buildCommand !== undefined) await shell('build command', { text: buildCommand, folder: agent, signal });
  print('built');
}

/** What the lock file of the root asks for, else that of the agent's folder, else nothing. */
async function install(
  root: string,
  agent: string,
  { isBuilt, signal }: { readonly isBuilt: boolean; readonly signal: AbortSignal },
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
    ...{ program: 'npm', args, folder, environment, signal },
  });
}

async function shell(
  what: string,
  { text, folder, signal }: { readonly text: string; readonly folder: string; readonly signal: AbortSignal },
): Promise<void> {
  print(`${what}: ${text}`);
  await perform(`${what} failed`, { program: '/bin/sh', args: ['-c', text], folder, signal });
}

async function perform(trouble: string, command: Command): Promise<void> {
  const code = await runCommand(command);
  if (code !== 0)
    throw new BuildError(`${trouble}: exit code ${code}; its output is in the log of the build`);
}
