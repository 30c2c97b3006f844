// Memory of an agent server: after its first 1,000 runs and after 10,000, and with 1,000 streams in which nothing happens.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startOwnServer, startPostgres } from './agent-server/own.mjs';
import { readArguments } from './read-arguments.mjs';

const { RUNS: runs, STREAMS: streams } = readArguments(
  `npm run bench -- agent-memory [RUNS [STREAMS]]

Memory of an agent server: after its first 1,000 runs and after RUNS (10,000), and with STREAMS (1,000) in which nothing happens.`,
  { counts: { RUNS: 10_000, STREAMS: 1_000 } },
).counts;
const CALLERS = 16;
const SETTLE_MS = 5_000;
const INPUT = { assistant_id: 'echo', input: { text: 'hello' } };

const postgres = await startPostgres(15);
const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });

const startServer = () => startOwnServer({ uri: postgres.uri, agent: 'echo' });

function megabytes({ pid }) {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024);
}

/** Processor time of the server so far. */
function cpuSeconds({ pid }) {
  const words = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(words[11]) + Number(words[12])) / 100;
}

function post(port, path, body) {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const sent = request({ host: '127.0.0.1', port, path, method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part) => (text += part));
      response.on('end', () =>
        response.statusCode < 300 ? resolve(JSON.parse(text)) : reject(new Error(text)),
      );
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}

async function perform(port, count) {
  let left = count;
  const call = async () => {
    while (left-- > 0) await post(port, '/runs/wait', INPUT);
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
}

async function measureRuns() {
  const server = await startServer();
  const { port } = server;
  const atStart = megabytes(server);
  await perform(port, runs / 10);
  await sleep(SETTLE_MS);
  const first = megabytes(server);
  const from = cpuSeconds(server);
  await perform(port, (runs * 9) / 10);
  const cpu = cpuSeconds(server) - from;
  await sleep(SETTLE_MS);
  const all = megabytes(server);
  console.log(
    `RSS ${atStart} MB at the start, ${first} MB after ${runs / 10} runs, ${all} MB after ${runs} (${(((all - first) / first) * 100).toFixed(1)} %); CPU of the server ${((cpu / (runs * 0.9)) * 1e6).toFixed(0)} µs a run`,
  );
  await server.stop();
}

/** A stream whose client reads what comes; nothing does. Resolves with its socket once it has begun. */
function open(port, path) {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', reject);
    socket.once('data', () => resolve(socket));
    socket.write(`GET ${path} HTTP/1.1\r\nhost: agent\r\n\r\n`);
  });
}

async function measureStreams(name, pathOf) {
  const server = await startServer();
  const { port } = server;
  await perform(port, 200);
  await sleep(SETTLE_MS);
  const before = megabytes(server);
  const sockets = [];
  for (let n = 0; n < streams; n++) {
    const socket = await open(port, await pathOf(port));
    sockets.push(socket.on('data', () => undefined));
  }
  const from = cpuSeconds(server);
  await sleep(2 * SETTLE_MS);
  const cpu = (cpuSeconds(server) - from) / ((2 * SETTLE_MS) / 1_000);
  const withThem = megabytes(server);
  console.log(
    `${streams} idle streams of ${name}: RSS ${before} MB before, ${withThem} MB with them (${withThem - before} MB more); CPU ${(cpu * 100).toFixed(1)} % of a core`,
  );
  for (const socket of sockets) socket.destroy();
  await server.stop();
}

try {
  await measureRuns();
  await measureStreams('a thread each', async (port) => {
    const { thread_id } = await post(port, '/threads', {});
    return `/threads/${thread_id}/stream`;
  });
  await measureStreams('a waiting run each', async (port) => {
    const { run_id } = await post(port, '/runs', { ...INPUT, after_seconds: 3_600 });
    return `/runs/${run_id}/stream`;
  });
} finally {
  agent.destroy();
  await postgres.stop();
}
