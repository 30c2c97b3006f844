import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PLATFORM_VERSION } from '#lib/config';
import { parseGraphConfiguration } from '#lib/graph-configuration';
import { findPackageManager, INSTALL_SETTINGS, readManifest } from '#lib/image-store';
import { shellWord } from '#lib/command-line';
import { CommandError } from '../command-error.js';
import { ignoredLines } from './ignored-lines.js';

/** Containerfile and settings for building an agent's image from its folder. */
export interface AgentContainerfile {
  readonly containerfile: string;
  /** Lines of an ignore file, those of the folder's own among them. */
  readonly ignored: string;
  /** Files that the installation may read, and that are in no layer; each by the id of its mount. */
  readonly secrets: readonly InstallSecret[];
}

interface InstallSecret {
  readonly id: string;
  readonly path: string;
}

/**
 * @param prefix of the platform's images, as `image.prefix` of its chart
 * @throws CommandError when the folder holds no agent, or lists its Python packages otherwise than in requirements.txt
 */
export function agentContainerfile(folder: string, prefix: string): AgentContainerfile {
  const path = join(folder, 'langgraph.json');
  if (!existsSync(path))
    throw new CommandError('failed', `${folder} has no langgraph.json: name the folder of an agent`);
  const { language } = parseGraphConfiguration(readFileSync(path, 'utf8'), ['javascript', 'python']);
  const isPython = language === 'python';
  const install = isPython ? pythonStep(folder) : packagesStep(folder);
  const secrets = isPython || install === undefined ? [] : installSecrets(folder);
  const mounts = secrets.map(({ id }) => `--mount=type=secret,id=${id},target=/agent/${id} `).join('');
  const lines = [
    `FROM ${prefix}agentplane/${isPython ? 'agent-python' : 'agent'}:${PLATFORM_VERSION}`,
    ...(install === undefined ? [] : ['USER root']),
    'COPY --chown=0:0 . /agent',
    ...(install === undefined ? [] : [`RUN ${mounts}${install}`, 'USER 10001:10001']),
  ];
  const own = ['.dockerignore', '.containerignore'].map((name) => join(folder, name)).filter(existsSync);
  const ignored = ignoredLines(own.map((file) => readFileSync(file, 'utf8').trimEnd()));
  return { containerfile: `${lines.join('\n')}\n`, ignored: `${ignored.join('\n')}\n`, secrets };
}

/**
 * Secrets for the build. The builder reads them as its user: a link would hand another file of the machine to
 * the scripts of packages.
 */
function installSecrets(folder: string): readonly InstallSecret[] {
  return INSTALL_SETTINGS.map((id) => ({ id, path: join(folder, id) })).filter(({ path }) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined || found.isFile()) return found !== undefined;
    throw new CommandError('failed', `${path} is not a file of its own; copy what it leads to, or remove it`);
  });
}

/** Without a lock file the platform's packages serve, which are in the image. */
function packagesStep(folder: string): string | undefined {
  const manager = findPackageManager(folder, readManifest(folder) ?? {});
  if (!manager) return undefined;
  const environment = Object.entries(manager.environment).map(([name, value]) => `${name}=${value}`);
  const words = ['env', 'CI=true', ...environment, 'npm', ...manager.args].map(shellWord);
  return `${words.join(' ')} && rm -rf /root/.npm /root/.cache`;
}

function pythonStep(folder: string): string {
  if (!existsSync(join(folder, 'requirements.txt')))
    throw new CommandError(
      'failed',
      `${folder} has no requirements.txt, from which packages are installed in an image; make one, for example with "uv export --format requirements.txt -o requirements.txt"`,
    );
  return 'python3 -m venv .venv && .venv/bin/pip install --no-cache-dir -r requirements.txt';
}
