import { spawn } from 'node:child_process';
import { inheritedEnvironment, PROXY_VARIABLES } from '#lib/config';

/** What leads to the network here as it does everywhere else on this machine; nothing of the build's own settings. */
const INHERITED = [
  ...['PATH', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
  ...['npm_config_registry', 'YARN_NPM_REGISTRY_SERVER'],
  ...PROXY_VARIABLES,
];

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Instead of this program's own output, which is the log of the build. */
  readonly onOutput?: (text: string) => void;
  /** Kills it. What it started stays in the group of this program, and ends with the container at the latest. */
  readonly signal?: AbortSignal;
}

/**
 * Runs a command with an environment of its own, in which this folder is the home, and answers its exit code.
 * @throws Error when it cannot be started
 */
export function runCommand(command: Command): Promise<number> {
  const { program, args, folder, environment, onOutput, signal } = command;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: folder,
      env: { ...inheritedEnvironment(INHERITED), HOME: process.cwd(), CI: 'true', ...environment },
      stdio: ['ignore', onOutput ? 'pipe' : 'inherit', 'inherit'],
    });
    child.stdout?.on('data', (chunk: Buffer) => onOutput?.(chunk.toString()));
    signal?.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(code ?? (signal === null ? 1 : 128)));
  });
}
