// The agent server's speed, every promised figure of it, beside the reference servers where they are installed.
// npm run bench -- agent-server [--part NAME] [--peers FOLDER]; --help says the rest.
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '#lib/embedded-postgres';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { Client } from './client.mjs';
import { readOptions } from './options.mjs';
import { memory } from './parts/memory.mjs';
import { threads, threadWait, wait } from './parts/requests.mjs';
import { rollout } from './parts/rollout.mjs';
import { start } from './parts/starts.mjs';
import { alone, burst, cpu, paced } from './parts/streams.mjs';
import { OURS } from './rows.mjs';
import { withPythonBars } from './python-bars.mjs';
import { startJavascript, startOurs, startPython } from './servers.mjs';
import { worker } from './parts/worker.mjs';
import { table } from './table.mjs';

/** In the order of the table; those of the second group start servers of their own. */
const PARTS = { wait, threadWait, threads, alone, paced, burst, cpu, memory, worker };
const OWN_SERVERS = { start, rollout };

/** Of the peers: small requests are fastest with their default, and 64 streams would take seven seconds with it. */
const placesOf = (part) => (part === 'paced' || part === 'burst' ? 64 : 10);

async function measure(options) {
  const folder = mkdtempSync(join(tmpdir(), 'agentplane-bench-'));
  const postgres = await startEmbeddedPostgres({
    dataDir: join(folder, 'postgres'),
    port: 0,
    log: createLogger('bench', 'error'),
    clock: systemClock,
  });
  let databases = 0;
  const freshDatabase = () => {
    const name = `agent${++databases}`;
    return postgres.ensureDatabase({ database: name, role: name, connectionLimit: 30 });
  };
  const running = [];
  const rows = [];
  try {
    const kinds = await kindsOf(options, { folder, freshDatabase });
    let places = 0;
    const open = async (kind) => {
      const server = await kind.start(places);
      running.push(server);
      return { ...kind, ...server, client: new Client(server.port) };
    };
    let servers = [];
    const restart = async (server) => {
      await server.stop();
      const next = await open(kinds.find(({ name }) => name === server.name));
      servers = servers.map((one) => (one === server ? next : one));
      return next;
    };
    for (const part of options.parts) {
      process.stdout.write(`\n### ${part} (load ${loadavg()[0].toFixed(1)})\n`);
      if (part in PARTS && placesOf(part) !== places) {
        places = placesOf(part);
        for (const server of running.splice(0)) await server.stop();
        servers = await Promise.all(kinds.map(open));
      }
      const given = { ...options, servers, kinds, restart, freshDatabase };
      rows.push(...(await (PARTS[part] ?? OWN_SERVERS[part])(given)));
    }
  } finally {
    for (const server of running) await server.stop();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`\n${table(options.interpreter ? withPythonBars(rows) : rows)}\n`);
}

/** Every kind of server with how one is started. */
async function kindsOf({ ours, interpreter, python, javascript }, { folder, freshDatabase }) {
  const uri = await freshDatabase();
  const given = interpreter
    ? [{ AGENTPLANE_PYTHON: interpreter }, undefined, 'tokens-python']
    : [{}, undefined, 'tokens'];
  const kinds = [{ name: OURS, start: () => startOurs(OURS, uri, ...given) }];
  if (ours) {
    const other = await freshDatabase();
    kinds.push({ name: 'other', start: () => startOurs('other', other, given[0], ours, given[2]) });
  }
  if (python)
    kinds.push({
      name: 'python',
      start: (places = 10) => startPython(python, join(folder, 'python'), places),
    });
  if (javascript)
    kinds.push({ name: 'javascript', start: (places = 10) => startJavascript(javascript, places) });
  return kinds;
}

/** Parts of graphs in Python alone, and those that say nothing of them. */
const OF_PYTHON = ['worker'];
const NOT_OF_PYTHON = ['threads', 'memory', 'rollout'];

const options = readOptions(Object.keys({ ...PARTS, ...OWN_SERVERS }), OF_PYTHON, NOT_OF_PYTHON);
await measure(options);
