import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { inheritedEnvironment } from '#lib/config';
import { TerminalError } from '#lib/errors';

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
];

/**
 * Gives an image its `node_modules`: from its own lock file, or else the platform's, so that a sample of two files runs.
 * @param platformModules the platform's own `node_modules`
 * @param onInstall called before npm begins, which may take minutes
 * @throws TerminalError with the end of npm's output when the lock file cannot be installed
 */
export async function installDependencies(
  folder: string,
  platformModules: string,
  onInstall: () => void = () => undefined,
): Promise<void> {
  if (existsSync(join(folder, 'package-lock.json')) || existsSync(join(folder, 'npm-shrinkwrap.json'))) {
    onInstall();
    return npmCi(folder);
  }
  await symlink(platformModules, join(folder, 'node_modules'), 'dir');
}

function npmCi(folder: string): Promise<void> {
  const environment = inheritedEnvironment(INHERITED);
  // packages with install scripts must be built for the Node that will run them
  const path = `${dirname(process.execPath)}${delimiter}${environment.PATH ?? ''}`;
  return new Promise((resolve, reject) => {
    const child = spawn('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], {
      cwd: folder,
      env: { ...environment, PATH: path },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-2_000)));
    child.on('error', (error) =>
      reject(
        new TerminalError('NpmMissing', 'npm could not be started to install dependencies', { cause: error }),
      ),
    );
    child.on('close', (code) => {
      if (code === 0) resolve();
      else reject(new TerminalError('InstallFailed', `npm ci exited with ${code}: ${output.trim()}`));
    });
  });
}
