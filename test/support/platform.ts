import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The file `credentials.json` of a data folder. */
export interface Credentials {
  readonly restUrl: string;
  readonly apiKey: string;
  readonly tenantId: string;
  /** Manages the API keys of every workspace. */
  readonly operatorKey: string;
  readonly kubeconfig: string;
  readonly metrics: Readonly<Record<string, string>>;
  readonly objectStore: {
    readonly endpoint: string;
    readonly region: string;
    readonly bucket: string;
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
  };
}

/** A started platform, as a person would have started it. */
export interface Platform {
  readonly dataFolder: string;
  readonly credentials: Credentials;
  /** Everything it printed on standard output until it was ready. */
  readonly greeting: string;
  readonly startedInMs: number;
  readonly process: ChildProcess;
  /** Ctrl-C, then waits for the end; the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL of the starter alone: the rest must notice by itself. */
  kill(): Promise<void>;
}

export const repository = resolve(import.meta.dirname, '..', '..');

/** A new empty data folder in the temporary folder. */
export function newDataFolder(): string {
  return mkdtempSync(join(tmpdir(), 'agentplane-e2e-'));
}

export function removeDataFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Starts the platform over a data folder and waits for the line that begins with `Ready`. */
export async function startPlatform(
  dataFolder: string,
  {
    readyWithinMs = 120_000,
    more = [],
    environment = {},
  }: {
    readyWithinMs?: number;
    more?: readonly string[];
    environment?: Readonly<Record<string, string>>;
  } = {},
): Promise<Platform> {
  const started = performance.now();
  const child = spawn(
    process.execPath,
    ['bin/agentplane.js', 'up', '--data', dataFolder, '--listen', '127.0.0.1:0', ...more],
    {
      cwd: repository,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: { ...process.env, ...environment },
    },
  );
  let greeting = '';
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  await new Promise<void>((ready, failed) => {
    const timer = setTimeout(
      () =>
        failed(new Error(`not ready after ${readyWithinMs} ms:\n${greeting}\n${complaints.slice(-4000)}`)),
      readyWithinMs,
    );
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      greeting += text;
      if (!/^Ready/m.test(greeting)) return;
      clearTimeout(timer);
      ready();
    });
    child.once('exit', (code) => {
      clearTimeout(timer);
      failed(new Error(`ended with ${code} before it was ready:\n${greeting}\n${complaints.slice(-4000)}`));
    });
  });
  const ended = new Promise<number | null>((resolveExit) => child.once('exit', resolveExit));
  const credentials = JSON.parse(readFileSync(join(dataFolder, 'credentials.json'), 'utf8')) as Credentials;
  return {
    dataFolder,
    credentials,
    greeting,
    startedInMs: performance.now() - started,
    process: child,
    stop() {
      child.kill('SIGINT');
      return ended;
    },
    async kill() {
      // the wrapper and the supervisor behind it share a process group; the children have groups of their own
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      await ended;
    },
  };
}
