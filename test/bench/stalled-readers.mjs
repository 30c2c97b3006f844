// Callers of POST /runs/stream that read nothing: what the agent server holds for them, and how many are still connected.
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startOwnServer, startPostgres } from './agent-server/own.mjs';
import { countOf, readArguments } from './read-arguments.mjs';

const { more: counts } = readArguments(
  `npm run bench -- stalled-readers [READERS…]

READERS (60, then 500) of POST /runs/stream who read nothing: what the agent server holds for them, and how many are still
connected. The last line is what as many as the first cost who read everything.`,
  { more: (word) => countOf('READERS', word) },
);
const WATCHED_MS = 45_000;
const AFTER_MS = 10_000;
const BODY = JSON.stringify({
  assistant_id: 'echo',
  input: { text: 'x'.repeat(400_000) },
  stream_mode: ['values', 'updates', 'debug', 'events'],
});

const postgres = await startPostgres(10);

let cuts = 0;

function startServer() {
  cuts = 0;
  const { AGENTPLANE_UNREAD_MB } = process.env;
  return startOwnServer({
    ...{ uri: postgres.uri, agent: 'echo' },
    env: AGENTPLANE_UNREAD_MB ? { AGENTPLANE_UNREAD_MB } : {},
    onLine: ({ msg }) => {
      if (msg === 'slow client cut') cuts++;
    },
  });
}

function megabytes(pid) {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024);
}

/** Sends the request whole, then reads nothing, or everything. */
function reader(port, reads) {
  const socket = connect({ port, host: '127.0.0.1' });
  if (reads) socket.resume();
  else socket.pause();
  socket.on('error', () => undefined);
  socket.write(
    `POST /runs/stream HTTP/1.1\r\nhost: agent\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
  );
  return socket;
}

/** Connections of the server's port that its side still holds open: a paused socket is told nothing of a cut. */
function established(port) {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .filter((line) => {
      const [, local, , state] = line.trim().split(/\s+/);
      return local?.endsWith(wanted) && state === '01';
    }).length;
}

async function okMs(port) {
  const from = performance.now();
  await new Promise((resolve, reject) =>
    get({ port, host: '127.0.0.1', path: '/ok', agent: false }, (response) =>
      response.resume().on('end', resolve),
    ).on('error', reject),
  );
  return performance.now() - from;
}

async function measure(readers, reads) {
  const server = await startServer();
  const { port } = server;
  try {
    const before = megabytes(server.pid);
    const sockets = Array.from({ length: readers }, () => reader(port, reads));
    let peak = before;
    let slowest = 0;
    const end = performance.now() + WATCHED_MS;
    while (performance.now() < end) {
      peak = Math.max(peak, megabytes(server.pid));
      slowest = Math.max(slowest, await okMs(port));
      await sleep(100);
    }
    const open = established(port);
    for (const socket of sockets) socket.destroy();
    await sleep(AFTER_MS);
    console.log(
      `${readers} readers that ${reads ? 'read' : 'stall'}: RSS ${before} MB before, ${peak} MB at most, ${megabytes(server.pid)} MB 10 s after; ${cuts} cut and ${open} open after ${WATCHED_MS / 1000} s; slowest /ok ${slowest.toFixed(0)} ms`,
    );
  } finally {
    await server.stop();
  }
}

try {
  for (const readers of counts.length > 0 ? counts : [60, 500]) await measure(readers, false);
  await measure(counts[0] ?? 60, true);
} finally {
  await postgres.stop();
}
