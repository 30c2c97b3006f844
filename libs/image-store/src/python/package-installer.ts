import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { isAbsolute, join, resolve } from 'node:path';
import { inheritedEnvironment } from '#lib/config';
import { TerminalError, WaitingError } from '#lib/errors';
import type { PythonSettings } from '#lib/graph-configuration';
import { endOfOutput, type ProgramEnd, runProgram } from '../dependencies/run-program.js';
import { findCommands, type InstallUser } from '../install-user.js';
import { partialPath } from '../partial-folder.js';
import type { Python } from './find-python.js';

/** A certificate that is not trusted stays so at the next attempt. */
const CERTIFICATE =
  /certificate verify failed|CertificateVerif|invalid peer certificate|SSLCertVerificationError/i;

/** Messages of pip and uv when the index does not answer. */
const OUTAGES: readonly (readonly [RegExp, string])[] = [
  [
    /Temporary failure in name resolution|NameResolutionError|failed to lookup address|Name or service not known/i,
    'its name is not found',
  ],
  [/Connection refused/i, 'connection refused'],
  [/Connection reset|Connection aborted|RemoteDisconnected|IncompleteRead/i, 'connection broken'],
  [/ConnectTimeoutError|ReadTimeoutError|Read timed out|operation timed out/i, 'timeout'],
  [/ProxyError|Cannot connect to proxy/i, 'the proxy refuses'],
  [
    /\b(?:HTTP error|status code|HTTPError:|client error:|server error:|too many)[^\n]{0,40}\b(429|5\d\d)\b/i,
    'HTTP 429 or 5xx',
  ],
  [/Failed to establish a new connection|error sending request for url/i, 'no connection'],
];

/**
 * Reason why pip or uv could not reach the index, by their output; undefined when another attempt cannot
 * help: a package that does not exist, a hash that differs, a build that failed, a certificate that is not
 * trusted.
 */
function indexOutage(output: string): string | undefined {
  if (CERTIFICATE.test(output)) return undefined;
  return OUTAGES.find(([pattern]) => pattern.test(output))?.[1];
}

/** Settings that say where packages come from, how long is waited for them, and what pip prints. */
const ALLOWED: ReadonlySet<string> = new Set([
  'index-url',
  'pypi-url',
  'extra-index-url',
  'no-index',
  'find-links',
  'trusted-host',
  'cert',
  'client-cert',
  'proxy',
  'timeout',
  'default-timeout',
  'retries',
  'resume-retries',
  'only-binary',
  'prefer-binary',
  'pre',
  'require-hashes',
  'upgrade-strategy',
  'disable-pip-version-check',
  'no-input',
  'no-color',
  'quiet',
  'verbose',
  'progress-bar',
]);

/** Python ends a line at these as well. */
const LINE_ENDS = /[\r\n\p{Zl}\p{Zp}\v\f\u0085\u001c-\u001e]+/u;
const COMMENT_OR_SECTION = /^(?:[#;].*|\[[^\]]*\])$/;
/** One of several addresses. If pip took the line for a setting of this name, it would ignore it. */
const ADDRESS = /^(?:https?|file):\/\/\S*$/;

/**
 * Checks the file that `pip_config_file` of `langgraph.json` names. It is the author's, and pip runs as the platform: a
 * setting that is not known to be harmless may have code of a package run, or files written elsewhere.
 * @throws TerminalError when it says more than where packages come from
 */
export function requireHarmlessConfig(file: string, text: string): void {
  for (const line of text.split(LINE_ENDS).map((one) => one.trim())) {
    if (line === '' || COMMENT_OR_SECTION.test(line) || ADDRESS.test(line)) continue;
    const [name = '', value] = line.split(/[=:]/);
    // a line without a value continues the setting above it, or is an error for pip
    if (value === undefined) continue;
    const setting = name.trim().toLowerCase().replaceAll('_', '-').replace(/^--/, '');
    if (!ALLOWED.has(setting))
      throw new TerminalError(
        'NotAnAgent',
        `${file}: ${JSON.stringify(setting)} is not a setting that an image may give pip; keep indexes, certificates and time limits in it` +
          (setting === 'constraint' ? ', and name constraints in requirements.txt (-c FILE)' : ''),
      );
  }
}

const NETWORK = [
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]),
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'NETRC',
];
const PLACES = [
  'PATH',
  'HOME',
  'TMPDIR',
  'LANG',
  'LC_ALL',
  'XDG_CONFIG_HOME',
  'XDG_CONFIG_DIRS',
  'XDG_CACHE_HOME',
];
/**
 * Variables that lead pip to its index here as they do everywhere else on this machine; none is a secret of
 * ours.
 */
const OF_PIP = [
  'CONFIG_FILE',
  'INDEX_URL',
  'EXTRA_INDEX_URL',
  'NO_INDEX',
  'FIND_LINKS',
  'TRUSTED_HOST',
  'CERT',
  'CLIENT_CERT',
  'PROXY',
  'CONSTRAINT',
  'KEYRING_PROVIDER',
].map((name) => `PIP_${name}`);
const HOW_PIP_WORKS = [
  'PIP_CACHE_DIR',
  'PIP_TIMEOUT',
  'PIP_DEFAULT_TIMEOUT',
  'PIP_RETRIES',
  'PIP_DISABLE_PIP_VERSION_CHECK',
  'PIP_NO_CACHE_DIR',
];
const OF_UV = [
  'DEFAULT_INDEX',
  'INDEX',
  'INDEX_URL',
  'EXTRA_INDEX_URL',
  'INDEX_STRATEGY',
  'FIND_LINKS',
  'NO_INDEX',
  'INSECURE_HOST',
  'NATIVE_TLS',
  'SYSTEM_CERTS',
  'CONFIG_FILE',
  'CACHE_DIR',
  'OFFLINE',
  'HTTP_TIMEOUT',
  'KEYRING_PROVIDER',
  'CONSTRAINT',
].map((name) => `UV_${name}`);

/** pip has tried several times before it gives up. */
const RETRY_MS = 30_000;

/** Installs packages for an interpreter. */
export interface PackageInstaller {
  readonly name: 'pip' | 'uv';
  /** Path of what is run. */
  readonly program: string;
  /** @param lists arguments that name the packages */
  install(request: {
    readonly venv: string;
    readonly folder: string;
    readonly lists: readonly string[];
    readonly builds: boolean;
    readonly onLine: ((line: string) => void) | undefined;
    readonly user?: InstallUser | undefined;
  }): Promise<void>;
}

/** True when pip is configured with an index, a proxy or a certificate of its own, which uv does not read. */
function hasPipSettings(settings: PythonSettings, environment: Readonly<Record<string, string>>): boolean {
  const { HOME = '/', XDG_CONFIG_HOME = join(HOME, '.config') } = environment;
  const files = [join(XDG_CONFIG_HOME, 'pip', 'pip.conf'), join(HOME, '.pip', 'pip.conf'), '/etc/pip.conf'];
  return (
    settings.pipConfigFile !== undefined ||
    OF_PIP.some((name) => environment[name] !== undefined) ||
    files.some((file) => existsSync(file))
  );
}

/**
 * uv takes settings of the folder that it works in, which are the image's: they could name an index for all images that
 * share an environment, or a place to write to. The machine's own are named instead.
 */
function uvSettings(environment: Readonly<Record<string, string>>): readonly string[] {
  const { HOME = '/', XDG_CONFIG_HOME = join(HOME, '.config'), XDG_CONFIG_DIRS = '/etc/xdg' } = environment;
  const folders = [XDG_CONFIG_HOME, ...XDG_CONFIG_DIRS.split(':'), '/etc'].filter((one) => isAbsolute(one));
  const files = folders.map((folder) => join(folder, 'uv', 'uv.toml'));
  const file = environment['UV_CONFIG_FILE'] ?? files.find((one) => existsSync(one));
  return ['--no-config', ...(file === undefined ? [] : ['--config-file', resolve(file)])];
}

/**
 * uv where the machine has it and pip has no settings of its own; else pip.
 * @param pip an interpreter that has pip
 * @throws TerminalError when the agent asks for uv and the machine has none
 */
export function chooseInstaller(image: string, settings: PythonSettings, pip: Python): PackageInstaller {
  const environment = inheritedEnvironment([...PLACES, ...NETWORK, ...OF_PIP, ...HOW_PIP_WORKS, ...OF_UV]);
  const [uv] = settings.installer === 'pip' ? [] : findCommands('uv');
  if (settings.installer === 'uv' && uv === undefined)
    throw new TerminalError(
      'InstallerMissing',
      'langgraph.json: "pip_installer" is "uv", which this machine does not have; install uv, or set "pip"',
    );
  const isUv = uv !== undefined && (settings.installer === 'uv' || !hasPipSettings(settings, environment));
  const { pipConfigFile } = settings;
  if (pipConfigFile !== undefined && !existsSync(join(image, pipConfigFile)))
    throw new TerminalError(
      'NotAnAgent',
      `langgraph.json: "pip_config_file": ${pipConfigFile} does not exist`,
    );
  if (pipConfigFile !== undefined)
    requireHarmlessConfig(pipConfigFile, readFileSync(join(image, pipConfigFile), 'utf8'));
  const own: Record<string, string> =
    pipConfigFile === undefined ? {} : { PIP_CONFIG_FILE: resolve(image, pipConfigFile) };
  return {
    name: isUv ? 'uv' : 'pip',
    program: isUv ? uv : pip.path,
    async install({ venv, folder, lists, builds, onLine, user }) {
      const python = join(venv, 'bin', 'python');
      const wheels = builds ? [] : ['--only-binary', ':all:'];
      const [command, args] = isUv
        ? [uv, [...uvSettings(environment), 'pip', 'install', '--python', python, ...wheels, ...lists]]
        : [
            pip.path,
            [
              '-m',
              'pip',
              '--python',
              python,
              'install',
              '--no-input',
              '--progress-bar=off',
              '--no-compile',
              ...wheels,
              ...lists,
            ],
          ];
      const end = await runProgram({
        command,
        args,
        folder,
        user,
        onLine,
        reportsOnError: isUv,
        environment: { ...environment, ...own, PYTHONSAFEPATH: '1', PYTHONNOUSERSITE: '1' },
      });
      if (end.code !== 0) throw failureOf(isUv ? 'uv' : 'pip', end, builds);
    },
  };
}

function failureOf(name: string, { code, output }: ProgramEnd, builds: boolean): Error {
  const outage = indexOutage(output);
  const end = endOfOutput(output);
  if (outage !== undefined)
    return new WaitingError(
      'DependencyUnavailable',
      `${name} could not install the packages of the agent: the package index is unavailable (${outage}); run the same again once it answers, or check its address and the proxy: ${end}`,
      RETRY_MS,
    );
  const isSource =
    !builds &&
    /No matching distribution|no usable wheels|has no wheels|building from source is disabled/i.test(output);
  const hint = isSource
    ? ' A package without a wheel for this machine is built by "image add" with --build-packages, or by an install_command.'
    : '';
  return new TerminalError(
    'InstallFailed',
    `${name} could not install the packages of the agent (exit code ${code}): ${end}${hint}`,
  );
}

/**
 * Test that an interpreter can install packages for another one: it needs a pip that knows `--python`, with
 * the parts of it that read lists, which some distributions take out.
 */
const ASK_PIP =
  'import pip, pip._vendor.packaging.requirements; raise SystemExit(int(pip.__version__.split(".")[0]) < 23)';

async function hasPip(path: string): Promise<boolean> {
  const end = await runProgram({
    command: path,
    args: ['-I', '-c', ASK_PIP],
    folder: '/',
    environment: inheritedEnvironment(PLACES),
  }).catch(() => undefined);
  return end?.code === 0;
}

/**
 * An interpreter that has pip: the agent's own, another of this machine, or one that is made of what comes with Python.
 * @param shared where it is made, once
 * @throws TerminalError `PipMissing`
 */
export async function findPip(python: Python, shared: string): Promise<Python> {
  for (const path of [python.path, ...findCommands('python3')])
    if (await hasPip(path)) return { ...python, path };
  const tools = join(shared, `pip-${python.version}`);
  const path = join(tools, 'bin', 'python');
  if (existsSync(path)) return { ...python, path };
  const partial = partialPath(shared);
  try {
    await mkdir(shared, { recursive: true, mode: 0o700 });
    const environment = inheritedEnvironment(PLACES);
    const { code, output } = await runProgram({
      command: python.path,
      args: ['-I', '-m', 'venv', partial],
      folder: '/',
      environment,
    });
    if (code !== 0)
      throw new TerminalError(
        'PipMissing',
        `no Python of this machine has pip 23 or newer, and ${python.path} cannot make one: ${endOfOutput(output)}. ` +
          'Install pip (Debian: apt-get install python3-pip python3-venv)',
      );
    await rename(partial, tools).catch((error: unknown) => {
      if (!existsSync(tools)) throw error; // else another import was faster
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return { ...python, path };
}
