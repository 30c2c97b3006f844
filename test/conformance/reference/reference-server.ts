import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const START_LIMIT_MS = 120_000;
/** Runs at work at once. */
const PLACES = 16;

/** The interpreter beside which the reference server is installed; undefined where there is none. */
export const REFERENCE_PYTHON = process.env['AGENTPLANE_TEST_REFERENCE'];

/** The reference server for Python, in memory, with the graphs of a folder. */
export class ReferenceServer {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly home: string,
  ) {}

  static async start(python: string, folder: string): Promise<ReferenceServer> {
    const [port, home] = await Promise.all([freePort(), mkdtemp(join(tmpdir(), 'agentplane-reference-'))]);
    const words = ['dev', '--no-browser', '--no-reload', '--n-jobs-per-worker', String(PLACES)];
    const child = spawn(
      join(dirname(python), 'langgraph'),
      [...words, '--server-log-level', 'error', '--host', '127.0.0.1', '--port', String(port)],
      {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          PATH: `${dirname(python)}:${process.env['PATH'] ?? ''}`,
          HOME: home,
          LANGSMITH_TRACING: 'false',
        },
      },
    );
    let said = '';
    for (const output of [child.stdout, child.stderr])
      output.on('data', (piece: Buffer) => (said = `${said}${piece.toString()}`.slice(-4_000)));
    const url = `http://127.0.0.1:${port}`;
    const limit = AbortSignal.timeout(START_LIMIT_MS);
    while (!(await isReady(url))) {
      if (child.exitCode !== null || limit.aborted) {
        child.kill('SIGKILL');
        throw new Error(`the reference server did not start: ${said}`);
      }
      await sleep(100);
    }
    return new ReferenceServer(url, child, home);
  }

  async stop(): Promise<void> {
    const { child } = this;
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      // it keeps nothing, and takes seconds to say so
      child.kill('SIGKILL');
      await ended;
    }
    await rm(this.home, { recursive: true, force: true });
  }
}

async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/ok`).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.ok ?? false;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}
