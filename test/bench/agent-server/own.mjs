// An agent server of ours on a Postgres of its own, for benches that need no other server beside it.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startEmbeddedPostgres } from '#lib/embedded-postgres';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';

const root = join(import.meta.dirname, '..', '..', '..');

/** As a node starts agents. */
const NODE_ARGUMENTS = ['--max-semi-space-size=4'];

/** @typedef {{ uri: string, stop(): Promise<void> }} OwnPostgres */

/** @returns {Promise<OwnPostgres>} in a folder that its end removes, with the database of one agent */
export async function startPostgres(connectionLimit) {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-bench-'));
  const postgres = await startEmbeddedPostgres({
    ...{ dataDir: folder, port: 0, clock: systemClock },
    log: createLogger('bench', 'error'),
  });
  const uri = await postgres.ensureDatabase({ database: 'agent', role: 'agent', connectionLimit });
  const stop = async () => {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { uri, stop };
}

/** @typedef {{ port: number, pid: number, stop(): Promise<void>, child: import('node:child_process').ChildProcess }} OwnServer */

/**
 * @param {{ uri: string, agent: string, env?: object, checkout?: string, onLine?: (entry: object) => void }} wanted
 *   `agent`: a folder of `test/bench/agents`; `onLine` gets what it logs from then on
 * @returns {Promise<OwnServer>} once it is ready
 */
export async function startOwnServer({ uri, agent, env = {}, checkout = root, onLine = () => undefined }) {
  const program = join(checkout, 'dist', 'apps', 'agent-server', 'src', 'main.js');
  const child = spawn(process.execPath, [...NODE_ARGUMENTS, program], {
    cwd: join(checkout, 'test', 'bench', 'agents', agent),
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...{ PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0' },
      ...{ POSTGRES_URI: uri, AGENTPLANE_AUTH: 'off' },
      ...env,
    },
  });
  const hasEnded = new Promise((resolve) => child.once('exit', resolve));
  const port = await new Promise((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      const entry = JSON.parse(line);
      if (entry.msg === 'ready') resolve(entry.port);
      onLine(entry);
    });
    void hasEnded.then((code) => reject(new Error(`the server ended with ${code}`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await hasEnded;
  };
  return { port, pid: child.pid, stop, child };
}
