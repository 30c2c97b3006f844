import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { inheritedEnvironment, NODE_MARKS, PROXY_VARIABLES } from '#lib/config';

/** Maximum length of the path of a socket, which tools make in `TMPDIR`; Linux takes 107 bytes. */
const LONGEST_TEMPORARY = 85;
/** The exit code when the program does not exist. */
export const NOT_FOUND = 127;
/** Unit of `ulimit -f` in the shell that POSIX describes. */
const BLOCK = 512;

/**
 * Variables that lead to the network here as they do everywhere else on this machine; no settings of the
 * build itself.
 */
const INHERITED = [
  'PATH',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'PIP_CERT',
  'npm_config_registry',
  'YARN_NPM_REGISTRY_SERVER',
  'PIP_INDEX_URL',
  'UV_DEFAULT_INDEX',
  ...PROXY_VARIABLES,
  ...NODE_MARKS,
];

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Limit per file: a file that was removed and is still open is in no folder. */
  readonly maxFileBytes: number;
  /** Instead of this program's own output, which is the log of the build. */
  readonly onOutput?: (text: string) => void;
  /** Receives errors beside the log of the build, which gets them as well. */
  readonly onErrors?: (text: string) => void;
  /**
   * Kills it. Its child processes stay in the group of this program, and end with the container at the
   * latest.
   */
  readonly signal?: AbortSignal;
}

/**
 * Runs a command with an environment of its own, in which the folder of this program is the home and has the temporary
 * files, and answers its exit code.
 */
export function runCommand(command: Command): Promise<number> {
  const { program, args, folder, environment, maxFileBytes, onOutput, onErrors, signal } = command;
  // a lower limit of this machine stays
  const limited = `ulimit -f ${Math.ceil(maxFileBytes / BLOCK)} 2>/dev/null; exec "$@"`;
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', limited, 'sh', program, ...args], {
      cwd: folder,
      env: { ...inheritedEnvironment(INHERITED), ...ownFolders(), CI: 'true', ...environment },
      stdio: ['ignore', onOutput ? 'pipe' : 'inherit', onErrors ? 'pipe' : 'inherit'],
    });
    child.stdout?.on('data', (chunk: Buffer) => onOutput?.(chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => {
      process.stderr.write(chunk);
      onErrors?.(chunk.toString());
    });
    const kill = (): void => void child.kill('SIGKILL');
    signal?.addEventListener('abort', kill, { once: true });
    if (signal?.aborted === true) kill();
    child.on('error', reject);
    child.on('close', (code, ended) => resolve(code ?? (ended === null ? 1 : 128)));
  });
}

/** Folders of the build: files in `/tmp` would be neither counted nor removed. */
function ownFolders(): Readonly<Record<string, string>> {
  const HOME = process.cwd();
  const TMPDIR = join(HOME, 'tmp');
  if (Buffer.byteLength(TMPDIR) > LONGEST_TEMPORARY) return { HOME };
  mkdirSync(TMPDIR, { recursive: true, mode: 0o700 });
  return { HOME, TMPDIR };
}
