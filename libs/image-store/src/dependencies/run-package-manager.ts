import { delimiter, dirname } from 'node:path';
import { inheritedEnvironment } from '#lib/config';
import { TerminalError, WaitingError } from '#lib/errors';
import type { InstallUser } from '../install-user.js';
import type { PackageManager } from './package-manager.js';
import { registryOutage } from './registry-outage.js';
import { endOfOutput, runProgram } from './run-program.js';

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
