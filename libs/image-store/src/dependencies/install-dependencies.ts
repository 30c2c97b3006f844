import { createHash } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { delimiter, dirname, join, relative } from 'node:path';
import { inheritedEnvironment } from '#lib/config';
import { TerminalError, WaitingError } from '#lib/errors';
import { isJsonObject, type JsonObject } from '#lib/json';
import type { Clock } from '#lib/time';
import { asInstallUser, findCommands, type InstallUser } from '../install-user.js';
import { inPartial, moveInto } from '../partial-folder.js';
import { findPackageManager, MANAGER_FILES, type PackageManager, readManifest } from './package-manager.js';
import { endOfOutput, runProgram } from './run-program.js';
import { leaveOutReplaced, leftOutNote, replacedIn } from '../replaced-packages.js';
import { hasPackages } from './shared-packages.js';

/** Codes of npm and of Node that the network or the registry caused. */
const OUTAGE =
  /^(EAI_AGAIN|EAI_FAIL|ENOTFOUND|ECONNREFUSED|ECONNRESET|ECONNABORTED|E(SOCKET)?TIMEDOUT|ERR_SOCKET_TIMEOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN|E(429|5\d\d))$/;

/**
 * Patterns for the line in which npm, pnpm, yarn 1 and later yarns write why they ended; yarn's scripts write
 * nothing in these forms.
 */
const CODES = [
  /^npm (?:error|ERR!) code (\S+)/gm,
  /ERR_PNPM_FETCH_(\d{3})\b/g,
  /^ ?(E[A-Z_]+) {2}request to /gm,
  /^error (?:An unexpected error occurred: ")?(?:Error: )?(?:\S+: )?Request failed \\?"(\d{3})\b/gm,
  /^error (?:An unexpected error occurred: ")?(?:Error: )?(?:\S+: )?(?:connect|getaddrinfo|read|socket|network) (E[A-Z_]+)/gm,
  /^error (?:An unexpected error occurred: ")?(?:Error: )?(?:\S+: )?(ESOCKETTIMEDOUT|ETIMEDOUT)/gm,
  /^➤ YN0035: │ {3}Response Code: (\d{3})\b/gm,
  /^➤ YN0001: │ (?:\S+: )?RequestError: (?:\w+ )?(E[A-Z_]+)\b/gm,
];

/**
 * Reason why a package manager could not reach its registry, by the code in its output; undefined when
 * another attempt cannot help: a package that does not exist, a digest that differs, an install script that
 * failed.
 */
export function registryOutage(output: string): string | undefined {
  const codes = CODES.flatMap((pattern) => [...output.matchAll(pattern)]).map(([, code = '']) =>
    /^\d{3}$/.test(code) ? `E${code}` : code,
  );
  return codes.every((code) => OUTAGE.test(code)) ? codes[0] : undefined;
}

/**
 * Variables that lead npm to its registry here as they do everywhere else on this machine; none is a secret
 * of ours.
 */
const INHERITED = [
  'PATH',
  'HOME',
  'TMPDIR',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  ...['registry', 'cache', 'userconfig', 'cafile'].flatMap((name) => [
    `npm_config_${name}`,
    `NPM_CONFIG_${name.toUpperCase()}`,
  ]),
  'YARN_NPM_REGISTRY_SERVER',
];

/** The package managers have tried several times, half a minute apart, before they give up. */
const RETRY_MS = 30_000;

/**
 * @throws WaitingError when the registry cannot be reached or answers 429 or 5xx, TerminalError with the end of the
 * output when what the lock file names cannot be installed
 */
export async function runPackageManager(
  folder: string,
  manager: PackageManager,
  user?: InstallUser,
): Promise<void> {
  const environment = inheritedEnvironment(INHERITED);
  // packages with install scripts must be built for the Node that will run them
  const path = `${dirname(process.execPath)}${delimiter}${environment.PATH ?? ''}`;
  const { code, output } = await runProgram({
    command: 'npm',
    args: manager.args,
    folder,
    user,
    environment: { ...environment, ...manager.environment, PATH: path, CI: 'true' },
  }).catch((cause: unknown) => {
    throw new TerminalError('NpmMissing', 'npm could not be started to install dependencies', { cause });
  });
  if (code === 0) return;
  const what = `${manager.name} could not install what ${manager.lockFile} names`;
  const outage = registryOutage(output);
  if (outage === undefined)
    throw new TerminalError('InstallFailed', `${what} (exit code ${code}): ${endOfOutput(output)}`);
  throw new WaitingError(
    'DependencyUnavailable',
    `${what}: the package registry is unavailable (${outage}); run the same again once it answers, or check npm's registry and the proxy: ${endOfOutput(output)}`,
    RETRY_MS,
  );
}

export interface InstallOptions {
  /** The image that is made. */
  readonly folder: string;
  /** The folder that holds nothing but the image, or the image itself. */
  readonly own: string;
  /** Keeps what was installed, for images with the same lock file. */
  readonly shared: string;
  /** The platform's own `node_modules`. */
  readonly platformModules: string;
  readonly clock: Clock;
  /** Called before an installation begins, which may take minutes. */
  readonly onInstall?: () => void;
  /** Gets a sentence for people about what was installed otherwise than the agent asks. */
  readonly onNote?: (note: string) => void;
}

/** Scripts of a package that run when its dependencies are installed, and may look at its files. */
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare'];

/** True when the installed packages depend on nothing but the lock file and the files beside it. */
function isOfLockAlone(manifest: JsonObject): boolean {
  const { scripts, workspaces, pnpm } = manifest;
  if (workspaces !== undefined || (isJsonObject(pnpm) && pnpm['patchedDependencies'] !== undefined))
    return false;
  if (isJsonObject(scripts) && INSTALL_SCRIPTS.some((name) => scripts[name] !== undefined)) return false;
  const { dependencies, optionalDependencies } = manifest;
  const ranges = [dependencies, optionalDependencies].flatMap((named) =>
    isJsonObject(named) ? Object.values(named) : [],
  );
  return ranges.every(
    (range) => typeof range === 'string' && !/^(file|link|portal|patch|workspace):|^[./]/.test(range),
  );
}

async function keyOf(folder: string, manager: PackageManager): Promise<string> {
  const hash = createHash('sha256').update(
    JSON.stringify([manager.name, manager.version, process.version, process.platform, process.arch]),
  );
  for (const name of [manager.lockFile, ...MANAGER_FILES])
    if (existsSync(join(folder, name)))
      hash
        .update(`${name}\n`)
        .update(await readFile(join(folder, name)))
        .update('\0');
  return hash.digest('hex');
}

/** Installs beside the images, once for each lock file; answers the folder that holds `node_modules`. */
async function installShared(
  folder: string,
  manager: PackageManager,
  options: InstallOptions,
): Promise<string> {
  const target = join(options.shared, await keyOf(folder, manager));
  if (await hasPackages(target, options.shared, options.clock)) return target;
  options.onInstall?.();
  return await inPartial(options.shared, async (partial) => {
    await mkdir(partial, { recursive: true, mode: 0o700 });
    // agents may be other users than the platform
    await chmod(options.shared, 0o711);
    await chmod(partial, 0o755);
    for (const name of [manager.lockFile, ...MANAGER_FILES])
      if (existsSync(join(folder, name))) await copyFile(join(folder, name), join(partial, name));
    await leaveOutReplaced(partial);
    await runAsUser(partial, manager, [partial]);
    await mkdir(join(partial, 'node_modules'), { recursive: true }); // a lock file may name nothing
    await keepModules(partial);
    await moveInto(partial, target); // another import with the same lock file may have been faster
    return target;
  });
}

/**
 * Deletes everything but the modules: files only needed to install may hold the token of a registry
 * (`.npmrc`), and every pod can read this folder.
 */
async function keepModules(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name !== 'node_modules') await rm(join(folder, name), { recursive: true, force: true });
}

/** Without a lock file the agent runs on the platform's packages, as a sample of two files does. */
function requireFromPlatform(manifest: JsonObject, platformModules: string): void {
  const { dependencies } = manifest;
  const missing = Object.keys(isJsonObject(dependencies) ? dependencies : {}).filter(
    (name) =>
      !replacedIn(manifest).includes(name) && !existsSync(join(platformModules, name, 'package.json')),
  );
  if (missing.length > 0)
    throw new TerminalError(
      'LockFileMissing',
      `package.json names ${missing.join(', ')}, and there is no lock file to install from; ` +
        'make one with "npm install --package-lock-only" (pnpm and yarn lock files work as well)',
    );
}

/**
 * Gives a folder without a lock file the platform's packages.
 * @throws TerminalError when its package.json names others
 */
export async function linkPlatform(folder: string, platformModules: string): Promise<void> {
  requireFromPlatform(readManifest(folder) ?? {}, platformModules);
  await symlink(platformModules, join(folder, 'node_modules'), 'dir');
}

/**
 * Gives an image its `node_modules`: from its own lock file (npm, pnpm or yarn), or else the platform's. The
 * packages of a lock file are installed once, so that an edit of the code installs nothing again.
 * @throws WaitingError when the package registry is unavailable, TerminalError with the end of the output when the lock file cannot be installed, or one is missing
 */
export async function installDependencies(options: InstallOptions): Promise<void> {
  const { folder, platformModules } = options;
  const manifest = readManifest(folder) ?? {};
  const manager = findPackageManager(folder, manifest);
  const note = leftOutNote(replacedIn(manifest));
  if (note !== undefined) options.onNote?.(note);
  const modules = join(folder, 'node_modules');
  if (!manager) {
    await linkPlatform(folder, platformModules);
  } else if (isOfLockAlone(manifest)) {
    const installed = await installShared(folder, manager, options);
    // relative: a data folder may be moved
    await symlink(relative(dirname(modules), join(installed, 'node_modules')), modules, 'dir');
  } else {
    options.onInstall?.();
    await leaveOutReplaced(folder);
    await runAsUser(folder, manager, [options.own]);
  }
}

function runAsUser(folder: string, manager: PackageManager, folders: readonly string[]): Promise<void> {
  const programs = findCommands('npm')
    .slice(0, 1)
    .map((path) => realpathSync(path));
  return asInstallUser({ folders, programs }, (user) => runPackageManager(folder, manager, user));
}
