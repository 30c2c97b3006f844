// Stateless runs of a trivial graph through HTTP, on a durable Postgres: latency alone, throughput at 32 callers.
// node test/bench/agent-server.mjs [RUNS]
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startEmbeddedPostgres } from '#lib/embedded-postgres';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';

const root = join(import.meta.dirname, '..', '..');
const runs = Number(process.argv[2] ?? 1000);
const folder = mkdtempSync(join(tmpdir(), 'agentplane-bench-'));
const BODY = JSON.stringify({ assistant_id: 'echo', input: { text: 'hello' } });

const postgres = await startEmbeddedPostgres({
  dataDir: folder,
  port: 0,
  log: createLogger('bench', 'error'),
  clock: systemClock,
});
const uri = await postgres.ensureDatabase({ database: 'agent', role: 'agent', connectionLimit: 10 });

const started = performance.now();
const server = spawn(process.execPath, [join(root, 'dist', 'apps', 'agent-server', 'src', 'main.js')], {
  cwd: join(root, 'test', 'bench', 'agents', 'echo'),
  stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  env: { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', POSTGRES_URI: uri, AGENTPLANE_AUTH: 'off' },
});
const port = await new Promise((resolve, reject) => {
  createInterface({ input: server.stderr }).on('line', (line) => {
    const entry = JSON.parse(line);
    if (entry.msg === 'ready') resolve(entry.port);
    else if (entry.level !== 'info') console.error(line);
  });
  server.on('exit', () => reject(new Error('the server ended')));
});
const startMs = performance.now() - started;

// fetch would take more CPU than the server
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

function post(path, body) {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        path,
        method: 'POST',
        agent,
        headers: { 'content-type': 'application/json' },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part) => (text += part));
        response.on('end', () =>
          response.statusCode === 200 ? resolve(text) : reject(new Error(`${response.statusCode} ${text}`)),
        );
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

async function statelessWait() {
  const values = JSON.parse(await post('/runs/wait', BODY));
  if (values.echoed !== 'hello') throw new Error(`wrong answer: ${JSON.stringify(values)}`);
}

async function threadWait() {
  const { thread_id } = JSON.parse(await post('/threads', '{}'));
  const values = JSON.parse(await post(`/threads/${thread_id}/runs/wait`, BODY));
  if (values.echoed !== 'hello') throw new Error(`wrong answer: ${JSON.stringify(values)}`);
}

async function measure(name, operation, callers, count) {
  const times = [];
  let left = count;
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (left-- > 0) {
        const from = performance.now();
        await operation();
        times.push(performance.now() - from);
      }
    }),
  );
  const seconds = (performance.now() - begun) / 1000;
  times.sort((a, b) => a - b);
  const at = (part) => times[Math.min(times.length - 1, Math.floor(times.length * part))].toFixed(1);
  console.log(
    `${name.padEnd(24)} ${String(callers).padStart(2)} callers  p50 ${at(0.5)} ms  p95 ${at(0.95)} ms  p99 ${at(0.99)} ms  ${(count / seconds).toFixed(0)} runs/s`,
  );
}

try {
  console.log(
    `start to ready ${startMs.toFixed(0)} ms; ${runs} runs each, durable Postgres (synchronous_commit on)`,
  );
  await measure('(warming up)', statelessWait, 8, Math.min(300, runs));
  await measure('stateless wait', statelessWait, 1, runs);
  await measure('stateless wait', statelessWait, 32, runs);
  await measure('new thread, then wait', threadWait, 1, Math.ceil(runs / 4));
  await measure('new thread, then wait', threadWait, 32, Math.ceil(runs / 2));
} finally {
  agent.destroy();
  server.removeAllListeners('exit');
  const ended = new Promise((resolve) => server.on('exit', resolve));
  server.kill('SIGTERM');
  await ended;
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
