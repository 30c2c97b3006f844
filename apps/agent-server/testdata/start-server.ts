import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from '@langchain/langgraph-sdk';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
spawnSync(process.execPath, [join(root, 'bin', 'build.js')]);
const main = join(root, 'dist', 'apps', 'agent-server', 'src', 'main.js');

/** The agent whose graphs the tests use. */
const TEST_AGENT = join(root, 'apps', 'agent-server', 'testdata', 'agent');
export const SAMPLE_AGENT = join(root, 'examples', 'agent');
export const JWT_AGENT = join(root, 'examples', 'jwt-auth');
/** An agent with handlers of its own. */
export const GUARDED_AGENT = join(root, 'apps', 'agent-server', 'testdata', 'guarded');

/** The same in Python. */
export const GUARDED_PYTHON_AGENT = join(root, 'apps', 'agent-server', 'testdata', 'guarded-python');

export interface ServerOptions {
  readonly uri: string;
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface LogLine {
  readonly msg: string;
  readonly port?: number;
  readonly error?: string;
  readonly path?: string;
}

/** A server as a process of its own. */
export class ServerProcess {
  #exited: Promise<unknown>;

  private constructor(
    readonly child: ChildProcess,
    readonly port: number,
    /** Every line that it logged so far. */
    readonly log: readonly LogLine[],
  ) {
    this.#exited =
      child.exitCode === null && child.signalCode === null ? once(child, 'exit') : Promise.resolve();
  }

  static async start({ uri, folder = TEST_AGENT, env = {} }: ServerOptions): Promise<ServerProcess> {
    const { child, lines } = spawnServer(uri, folder, env);
    const log: LogLine[] = [];
    const port = await new Promise<number>((resolve, reject) => {
      lines.on('line', (line) => {
        const entry = JSON.parse(line) as LogLine;
        log.push(entry);
        if (entry.msg === 'ready' && entry.port !== undefined) resolve(entry.port);
      });
      const said = (): string => log.map((entry) => entry.error ?? JSON.stringify(entry)).join('; ');
      lines.on('close', () => reject(new Error(`the server did not start: ${said()}`)));
    });
    return new ServerProcess(child, port, log);
  }

  /** Starts a server that is expected to end by itself; answers its exit code. */
  static async startAndEnd({ uri, folder = TEST_AGENT, env = {} }: ServerOptions): Promise<number | null> {
    const { child } = spawnServer(uri, folder, env);
    child.stderr?.resume();
    const [code] = (await once(child, 'exit')) as [number | null];
    return code;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  client(apiKey: string | null = null): Client {
    return new Client({ apiUrl: this.url, apiKey, callerOptions: { maxRetries: 0, maxConcurrency: 50 } });
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  get exited(): Promise<unknown> {
    return this.#exited;
  }

  async stop(name: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill('SIGCONT');
      this.child.kill(name);
    }
    await this.#exited;
  }
}

function spawnServer(uri: string, folder: string, env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [main], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      HOST: '127.0.0.1',
      PORT: '0',
      POSTGRES_URI: uri,
      AGENTPLANE_AUTH: 'off',
      ...env,
    },
  });
  return { child, lines: createInterface({ input: child.stderr as NodeJS.ReadableStream }) };
}
