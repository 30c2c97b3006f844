// Servers as programs of their own: ours on durable Postgres, the reference servers in memory.
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startOwnServer } from './own.mjs';
import { treeOf } from './process-tree.mjs';

const root = join(import.meta.dirname, '..', '..', '..');
const agent = join(import.meta.dirname, '..', 'agents', 'tokens');

const START_LIMIT_MS = 60_000;

/**
 * `isStoppable`: keeps nothing that ends while it stands still, as a lease would
 * @typedef {{ name: string, port: number, pid: number, readyMs: number, isStoppable?: boolean, stop(): Promise<void>, kill(): void }} Server
 */

/** @returns {Promise<Server>} ours; `env` beside what it needs */
export async function startOurs(name, uri, env = {}, checkout = undefined, served = 'tokens') {
  const begun = performance.now();
  const onLine = (entry) => {
    if (entry.level !== 'info') process.stderr.write(`${name}: ${JSON.stringify(entry)}\n`);
  };
  const { port, child } = await startOwnServer({ uri, agent: served, env, checkout, onLine });
  return { name, port, pid: child.pid, readyMs: performance.now() - begun, ...endings(child) };
}

/** @returns {Promise<Server>} langgraph-api for Python */
export async function startPython(langgraph, folder, places) {
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(agent, 'graphs.py'), join(folder, 'graphs.py'));
  const graphs = Object.fromEntries(['echo', 'paced', 'tokens'].map((name) => [name, `./graphs.py:${name}`]));
  writeFileSync(join(folder, 'langgraph.json'), JSON.stringify({ dependencies: ['.'], graphs }));
  const port = await freePort();
  const words = [
    'dev',
    '--no-browser',
    '--no-reload',
    '--n-jobs-per-worker',
    places,
    '--server-log-level',
    'error',
  ];
  return startPeer('python', port, langgraph, [...words, '--host', '127.0.0.1', '--port', port], {
    cwd: folder,
    env: { PATH: `${dirname(langgraph)}:${process.env.PATH}`, HOME: folder, LANGSMITH_TRACING: 'false' },
  });
}

/** @returns {Promise<Server>} langgraph-api for JavaScript, as its command starts it but without watching files */
export async function startJavascript(home, places) {
  const folder = join(home, '..', '..', '..', 'bench-agent');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(agent, 'graphs.mjs'), join(folder, 'graphs.mjs'));
  const graphs = Object.fromEntries(
    ['echo', 'paced', 'tokens'].map((name) => [name, `./graphs.mjs:${name}`]),
  );
  const port = await freePort();
  const order = { port, nWorkers: places, host: '127.0.0.1', cwd: folder, graphs };
  const cli = join(home, 'dist', 'cli');
  const words = [
    '--import',
    join(home, 'dist', 'preload.mjs'),
    join(cli, 'entrypoint.mjs'),
    process.pid,
    JSON.stringify(order),
  ];
  return startPeer('javascript', port, process.execPath, words, {
    cwd: folder,
    env: { PATH: process.env.PATH, LOG_LEVEL: 'error', LOG_JSON: 'true', NODE_ENV: 'production' },
  });
}

async function startPeer(name, port, command, words, options) {
  const begun = performance.now();
  const child = spawn(command, words.map(String), { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const output of [child.stdout, child.stderr])
    output.on('data', (part) => (said = `${said}${part}`.slice(-4000)));
  let ended = false;
  child.once('exit', () => (ended = true));
  while (!(await isReady(port))) {
    if (ended) throw new Error(`${name} ended: ${said}`);
    if (performance.now() - begun > START_LIMIT_MS) throw new Error(`${name} is not ready: ${said}`);
    await sleep(5);
  }
  const readyMs = performance.now() - begun;
  return { name, port, pid: child.pid, isStoppable: true, readyMs, ...endings(child) };
}

async function isReady(port) {
  const answer = await fetch(`http://127.0.0.1:${port}/ok`).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.ok ?? false;
}

function endings(child) {
  return {
    async stop() {
      child.removeAllListeners('exit');
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await Promise.race([gone, sleep(20_000).then(() => this.kill())]);
    },
    /** The whole tree, as when a machine fails. */
    kill() {
      child.removeAllListeners('exit');
      if (child.exitCode !== null || child.signalCode !== null) return;
      for (const pid of treeOf(child.pid)) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // a child that ends with the first
        }
      }
    },
  };
}

export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
