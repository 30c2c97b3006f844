import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { shellWord, visibleText } from '#lib/command-line';
import { PLATFORM_VERSION } from '#lib/config';
import { parseGraphConfiguration } from '#lib/graph-configuration';
import {
  findPackageManager,
  findSecretFiles,
  INSTALL_SETTINGS,
  isLeftOut,
  NOT_CONTENT,
  readManifest,
  SECRET_EXAMPLES,
  SECRET_FILES,
} from '#lib/image-store';
import { CommandError } from '../command-error.js';
import { type Builder, BUILDERS } from './builders.js';
import { checkGraphs } from './check-graphs.js';

/** An image goes to a registry: what tends to hold secrets stays behind. */
const LEFT_OUT = [
  ...[...NOT_CONTENT, ...SECRET_FILES].map((name) => `**/${name}`),
  ...SECRET_EXAMPLES.map((name) => `!**/${name}`),
];

/**
 * The lines of an ignore file, of which the last that fits a path decides. The folder's own exceptions come
 * after the lines for secrets only where they name such a file: `!src` is about sources, not about
 * `src/.env`.
 */
export function ignoredLines(own: readonly string[]): readonly string[] {
  const lines = own.flatMap((text) => text.split(/\r?\n/)).map((line) => line.trim());
  return [...lines, ...LEFT_OUT, ...lines.filter(namesLeftOut)];
}

/** `!.env`, `!config/.env.*`, `!*.key`, `!.aws/config`, and `prod.key` behind them. A star alone names nothing. */
function namesLeftOut(line: string): boolean {
  const parts = line.replace(/^!/, '').trim().split('/');
  return parts.some((part) => isLeftOut(part.replaceAll('*', '')) || isLeftOut(part.replaceAll('*', 'x')));
}

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
  const configuration = readFileSync(path, 'utf8');
  const { language } = parseGraphConfiguration(configuration, ['javascript', 'python']);
  const own = dockerfileLines(configuration);
  const isPython = language === 'python';
  const install = isPython ? pythonStep(folder) : packagesStep(folder);
  const secrets = isPython || install === undefined ? [] : installSecrets(folder);
  const mounts = secrets.map(({ id }) => `--mount=type=secret,id=${id},target=/agent/${id} `).join('');
  const steps = [
    ...own,
    'COPY --chown=0:0 . /agent',
    ...(install === undefined ? [] : [`RUN ${mounts}${install}`]),
    ...(isPython ? [] : [`RUN ${TYPES_STEP}`]),
  ];
  const lines = [
    `FROM ${prefix}agentplane/${isPython ? 'agent-python' : 'agent'}:${PLATFORM_VERSION}`,
    ...(steps.length === 1 ? steps : ['USER root', ...steps, 'USER 10001:10001']),
  ];
  const ignoreFiles = ['.dockerignore', '.containerignore']
    .map((name) => join(folder, name))
    .filter(existsSync);
  const ignored = ignoredLines(ignoreFiles.map((file) => readFileSync(file, 'utf8').trimEnd()));
  return { containerfile: `${lines.join('\n')}\n`, ignored: `${ignored.join('\n')}\n`, secrets };
}

/** Keeps the types of graphs in the image. An agent runs without: a failure is in the output of the build. */
const TYPES_STEP =
  'node /app/dist/libs/image-store/src/graph-types/main.js --sources /agent/langgraph.json /app/node_modules || true';

/** `dockerfile_lines` of a langgraph.json, which its author runs on their own machine. */
function dockerfileLines(configuration: string): readonly string[] {
  const { dockerfile_lines: lines } = JSON.parse(configuration) as { readonly dockerfile_lines?: unknown };
  return Array.isArray(lines) ? lines.map(String) : [];
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

/** Names of files that tend to hold secrets, as one line for a terminal; undefined without any. */
export function secretNames(folder: string): string | undefined {
  const found = findSecretFiles(folder);
  return found.length === 0 ? undefined : visibleText(found.join(', ')).replaceAll(/[\n\t]/g, ' ');
}

/** A daemon that runs answers within a second or two. */
const INFO_MS = 10_000;

interface BuildFlags {
  /** Put before the names of the platform's images. */
  readonly prefix: string;
  readonly with?: Builder;
  readonly push?: boolean;
}

/** `agentplane image build NAME FOLDER`: an image of an agent for a cluster; the exit code. */
export async function buildImage(name: string, given: string, flags: BuildFlags): Promise<void> {
  const folder = resolve(given);
  await checkGraphs(folder);
  const { containerfile, ignored, secrets } = agentContainerfile(folder, flags.prefix);
  reportLeftOut(folder);
  const builder = flags.with ?? findBuilder();
  const work = mkdtempSync(join(tmpdir(), 'agentplane-image-'));
  try {
    const file = join(work, 'Containerfile');
    // Docker finds the second by its name
    const ignoreFile = `${file}.dockerignore`;
    writeFileSync(file, containerfile);
    writeFileSync(ignoreFile, ignored);
    const ignoring = builder === 'docker' ? [] : ['--ignorefile', ignoreFile];
    const build = builder === 'buildah' ? 'bud' : 'build';
    const mounted = secrets.flatMap(({ id, path }) => ['--secret', `id=${id},src=${path}`]);
    run(builder, [build, '--tag', name, '--file', file, ...ignoring, ...mounted, folder]);
    if (flags.push) run(builder, ['push', name]);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  const next = flags.push ? '' : `${builder} push ${name}, then `;
  process.stdout.write(
    `${name}\n${next}name it in a deployment: source: external_image, imageUri: ${name}\n`,
  );
}

function reportLeftOut(folder: string): void {
  const names = secretNames(folder);
  if (names === undefined) return;
  process.stderr.write(
    `left out unless a line "!NAME" of .dockerignore names it, since they tend to hold secrets: ${names}. Give an agent its keys with "agentplane secrets set"\n`,
  );
}

/** `info` fails where a client has no daemon, and waits where that hangs. */
function findBuilder(): Builder {
  const found = BUILDERS.find(
    (builder) => spawnSync(builder, ['info'], { stdio: 'ignore', timeout: INFO_MS }).status === 0,
  );
  if (found) return found;
  throw new CommandError(
    'failed',
    `none of ${BUILDERS.join(', ')} is installed and answers "info" within ${INFO_MS / 1000} s; install one, or start its daemon`,
  );
}

function run(builder: Builder, words: readonly string[]): void {
  // Docker's former builder does not read the file of what is left out, and would take secrets into the image
  const command = builder === 'docker' ? ['env', 'DOCKER_BUILDKIT=1', 'docker'] : [builder];
  const [program = '', ...first] = command;
  const { status, error } = spawnSync(program, [...first, ...words], { stdio: ['ignore', 2, 2] });
  if (status === 0) return;
  const why = error ? error.message : `it ended with ${status}; its output is above`;
  throw new CommandError('failed', `${builder} ${words[0]} failed: ${why}`);
}
