import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

const home = process.env.KUBE_HOME ?? join(homedir(), '.cache', 'agentplane', 'kube');

/** Path of the kubectl that test/cluster/install.sh built, whose every word is known. */
export function findBuiltKubectl(): string | undefined {
  const built = join(home, 'bin', 'kubectl');
  return existsSync(built) ? built : undefined;
}

/** Path of a kubectl: the built one, or else the user's own. `undefined` when there is none. */
export function findKubectl(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return (
    findBuiltKubectl() ?? folders.map((folder) => join(folder, 'kubectl')).find((path) => existsSync(path))
  );
}

/** Path of the real cluster's binaries, or `undefined`. */
export function findRealKubernetes(): string | undefined {
  return existsSync(join(home, 'bin', 'kube-apiserver')) ? home : undefined;
}

/** Says loudly that rows are left out; in CI nothing may be left out, so there it fails. */
export function leaveOut(what: string): void {
  if (process.env.CI === 'true')
    throw new Error(`${what} is missing: run "bash test/cluster/install.sh --helm" first`);
  process.stderr.write(
    `\n*** LEFT OUT: ${what} is missing, so the rows that need it did not run.\n` +
      '*** "bash test/cluster/install.sh --helm" builds it (Go needed, about ten minutes, once).\n\n',
  );
}

export interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** kubectl against one kubeconfig. */
export class Kubectl {
  constructor(
    readonly binary: string,
    readonly kubeconfig: string,
  ) {}

  /** Runs a command and never throws: the answer carries the exit code. */
  try(
    args: readonly string[],
    options: { input?: string; env?: Record<string, string> } = {},
  ): Promise<Answer> {
    return new Promise((resolve) => {
      const child = execFile(
        this.binary,
        ['--kubeconfig', this.kubeconfig, ...args],
        // a command that ends needs no collector
        { env: { ...process.env, GOGC: 'off', ...options.env }, maxBuffer: 64 << 20 },
        (error, stdout, stderr) =>
          resolve({ code: error ? (typeof error.code === 'number' ? error.code : 1) : 0, stdout, stderr }),
      );
      // one that ends before it has read its input says why itself
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(options.input ?? '');
    });
  }

  /** Runs a command that must succeed; its standard output. */
  async run(
    args: readonly string[],
    options: { input?: string; env?: Record<string, string> } = {},
  ): Promise<string> {
    const answer = await this.try(args, options);
    if (answer.code !== 0)
      throw new Error(
        `kubectl ${args.join(' ')} ended with ${answer.code}: ${answer.stderr}${answer.stdout}`,
      );
    return answer.stdout;
  }

  /** Starts a command that goes on (watch, logs -f); `text()` is what it said so far. */
  start(args: readonly string[]): { text(): string; stop(): void } {
    const child = spawn(this.binary, ['--kubeconfig', this.kubeconfig, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    return { text: () => said, stop: () => child.kill('SIGKILL') };
  }
}
