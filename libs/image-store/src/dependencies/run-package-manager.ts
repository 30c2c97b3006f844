import { spawn } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { inheritedEnvironment } from '#lib/config';
import { TerminalError, WaitingError } from '#lib/errors';
import { withUmask } from '#lib/process-identity';
import type { PackageManager } from './package-manager.js';
import { registryOutage } from './registry-outage.js';

/** What leads npm to its registry here as it does everywhere else on this machine, and nothing that is a secret of ours. */
const INHERITED = [
  'PATH',
  'HOME',
  'TMPDIR',
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
  ...['registry', 'cache', 'userconfig', 'cafile'].flatMap((name) => [
    `npm_config_${name}`,
    `NPM_CONFIG_${name.toUpperCase()}`,
  ]),
  'YARN_NPM_REGISTRY_SERVER',
];

/** The code of a failure comes before its stack. */
const KEPT_CHARACTERS = 20_000;
const SHOWN_CHARACTERS = 2_000;
/** The package managers have tried several times, half a minute apart, before they give up. */
const RETRY_MS = 30_000;

/**
 * @throws WaitingError when the registry cannot be reached or answers 429 or 5xx, TerminalError with the end of the
 * output when what the lock file names cannot be installed
 */
export function runPackageManager(folder: string, manager: PackageManager): Promise<void> {
  const environment = inheritedEnvironment(INHERITED);
  // packages with install scripts must be built for the Node that will run them
  const path = `${dirname(process.execPath)}${delimiter}${environment.PATH ?? ''}`;
  return new Promise((resolve, reject) => {
    // agents may be other users than the platform
    const child = withUmask(0o022, () =>
      spawn('npm', manager.args, {
        cwd: folder,
        env: { ...environment, ...manager.environment, PATH: path, CI: 'true' },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-KEPT_CHARACTERS)));
    child.on('error', (error) =>
      reject(
        new TerminalError('NpmMissing', 'npm could not be started to install dependencies', { cause: error }),
      ),
    );
    child.on('close', (code) => {
      if (code === 0) return resolve();
      const what = `${manager.name} could not install what ${manager.lockFile} names`;
      const outage = registryOutage(output);
      const end = output.trim().slice(-SHOWN_CHARACTERS);
      reject(
        outage === undefined
          ? new TerminalError('InstallFailed', `${what} (exit code ${code}): ${end}`)
          : new WaitingError(
              'DependencyUnavailable',
              `${what}: the package registry is unavailable (${outage}); run the same again once it answers, or check npm's registry and the proxy: ${end}`,
              RETRY_MS,
            ),
      );
    });
  });
}
