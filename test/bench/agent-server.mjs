// Stateless runs of a trivial graph through HTTP, on a durable Postgres: latency alone, throughput at 32 callers; then 64
// streams at once of an agent that waits for its model, with as many places as the server gives, and with ten.
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
const uri = await postgres.ensureDatabase({ database: 'agent', role: 'agent', connectionLimit: 15 });
// servers of one database would take each other's runs
const otherUri = await postgres.ensureDatabase({ database: 'other', role: 'other', connectionLimit: 15 });

async function startServer(env = {}) {
  const child = spawn(process.execPath, [join(root, 'dist', 'apps', 'agent-server', 'src', 'main.js')], {
    cwd: join(root, 'test', 'bench', 'agents', 'echo'),
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: {
      ...{ PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', POSTGRES_URI: uri, AGENTPLANE_AUTH: 'off' },
      ...env,
    },
  });
  const port = await new Promise((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      const entry = JSON.parse(line);
      if (entry.msg === 'ready') resolve(entry.port);
      else if (entry.level !== 'info') console.error(line);
    });
    child.on('exit', () => reject(new Error('the server ended')));
  });
  return { child, port };
}

async function stopServer({ child }) {
  child.removeAllListeners('exit');
  const ended = new Promise((resolve) => child.on('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

const started = performance.now();
const server = await startServer();
const { port } = server;
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

/** Runs streams at once; each is finished with its last token. */
async function stream(port, count, expected) {
  const body = JSON.stringify({ assistant_id: 'tokens', input: { text: 'a' }, stream_mode: 'custom' });
  const firsts = [];
  const begun = performance.now();
  const one = () =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' };
      const sent = request(
        { host: '127.0.0.1', port, path: '/runs/stream', method: 'POST', agent: false, headers },
        (response) => {
          let tokens = 0;
          response.on('data', (part) => {
            const found = part.toString('latin1').split('event: custom').length - 1;
            if (tokens === 0 && found > 0) firsts.push(performance.now() - begun);
            tokens += found;
          });
          response.on('end', () => (tokens >= expected ? resolve() : reject(new Error(`${tokens} tokens`))));
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  await Promise.all(Array.from({ length: count }, one));
  const seconds = (performance.now() - begun) / 1000;
  firsts.sort((a, b) => a - b);
  return { rate: count / seconds, p50: firsts[firsts.length >> 1], last: firsts.at(-1) };
}

/** In turns, so that both meet the same noise. */
async function measureStreams() {
  const fixed = await startServer({ N_JOBS_PER_WORKER: '10', POSTGRES_URI: otherUri });
  const kinds = { 'as the load allows': port, 'ten at a time': fixed.port };
  try {
    for (const port of Object.values(kinds)) await stream(port, 8, 190);
    for (let round = 1; round <= 3; round++)
      for (const [name, port] of Object.entries(kinds)) {
        const { rate, p50, last } = await stream(port, 64, 190);
        console.log(
          `64 streams, ${name.padEnd(18)} ${round}: ${rate.toFixed(1)} streams/s, first event p50 ${p50.toFixed(0)} ms, last ${last.toFixed(0)} ms`,
        );
      }
  } finally {
    await stopServer(fixed);
  }
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
  await measureStreams();
} finally {
  agent.destroy();
  await stopServer(server);
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
