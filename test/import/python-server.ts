import { execFileSync, spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { findStablePort } from '#lib/held-sockets';
import { waitFor } from '#lib/testing';
import { repository } from '../support/platform.js';

/** A server of another product that runs. */
export interface PythonServer {
  readonly url: string;
  stop(): void;
}

interface Wanted {
  /** Name of the list of packages, and of the folder that they are installed into. */
  readonly name: string;
  readonly words: (bin: string, port: number) => readonly string[];
  readonly cwd: string;
  readonly environment?: (port: number) => Readonly<Record<string, string>>;
  /** A path that answers once it serves. */
  readonly ready: string;
}

/** Installs a server from PyPI into the cache, once for each list, and starts it. */
export async function startPythonServer(wanted: Wanted): Promise<PythonServer> {
  const { name, words, cwd, environment, ready } = wanted;
  const folder = join(homedir(), '.cache', 'agentplane', name);
  const list = join(repository, 'test', 'import', `requirements-${name}.txt`);
  execFileSync('bash', [join(repository, 'test', 'support', 'install-python.sh'), list, folder]);
  const port = await findStablePort();
  const [program = '', ...rest] = words(join(folder, 'bin'), port);
  const path = `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`;
  const child = spawn(program, rest, {
    cwd,
    env: { ...process.env, PATH: path, ...environment?.(port) },
    stdio: 'ignore',
    detached: true,
  });
  const url = `http://127.0.0.1:${port}`;
  const answers = async (): Promise<boolean> =>
    await fetch(`${url}${ready}`).then(
      ({ ok }) => ok,
      () => false,
    );
  await waitFor(answers, { what: `${name} at ${url}` });
  return { url, stop: () => void process.kill(-(child.pid ?? 0), 'SIGKILL') };
}
