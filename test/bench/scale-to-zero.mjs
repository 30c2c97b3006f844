// Deployments at zero on one machine: the memory and the CPU that they take and the writes that they cause while nobody
// uses them, and how long the first request to one waits, with a spare process in the workspace and without.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execFileSync } from 'node:child_process';
import { costOf, processes, start } from './platform-cost.mjs';
import { readArguments } from './read-arguments.mjs';

const { DEPLOYMENTS: count } = readArguments(
  `npm run bench -- scale-to-zero [DEPLOYMENTS]

DEPLOYMENTS (100) at zero on one machine, and a quarter of them before: the memory and the CPU that they take and the
writes that they cause while nobody uses them, the memory of one more, and how long the first request to one waits, with a
spare process and without. Each is started once, which takes most of the time.`,
  { counts: { DEPLOYMENTS: 100 } },
).counts;
const IDLE_MS = 60_000;
/** The API server keeps changes of objects for five minutes, as etcd does; then nothing but the deployments is left. */
const SETTLED_MS = 360_000;
const AT_ONCE = 4;
const WAKES = 25;
/** A claimed spare is replaced by then. */
const REFILL_MS = 4_000;
const sleep = (ms) => new Promise((resume) => setTimeout(resume, ms));

const dataFolder = mkdtempSync(join(tmpdir(), 'agentplane-bench-'));
const checkout = resolve(import.meta.dirname, '..', '..');
let platform = await start(checkout, dataFolder);
const { restUrl, apiKey, tenantId, kubeconfig } = JSON.parse(
  readFileSync(join(dataFolder, 'credentials.json'), 'utf8'),
);

async function call(method, path, body) {
  const answer = await fetch(restUrl + path, {
    method,
    headers: { 'x-api-key': apiKey, 'x-tenant-id': tenantId, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

/** The API server counts its writes, of all kinds together. */
function writes() {
  const raw = ['--kubeconfig', kubeconfig, 'get', '--raw', '/api/v1/namespaces?limit=1'];
  return Number(JSON.parse(execFileSync('kubectl', raw, { encoding: 'utf8' })).metadata.resourceVersion);
}

/** Of all processes of the platform and its pods: name, CPU time so far, and memory that nobody shares, MB. */
function costs() {
  return processes(dataFolder, platform.pid).map(({ pid, args }) => ({
    name: /apps\/([a-z-]+)\/src/.exec(args)?.[1] ?? (/postgres/.test(args) ? 'postgres' : 'other'),
    ...costOf(pid),
  }));
}

const sumOf = (rows, field) => rows.reduce((sum, row) => sum + row[field], 0);

/** What an idle minute costs, which is printed. */
async function idleCost(what, settledMs) {
  await sleep(settledMs);
  const before = { writes: writes(), cpuMs: sumOf(costs(), 'cpuMs') };
  await sleep(IDLE_MS);
  const written = writes() - before.writes;
  const rows = costs();
  const mb = sumOf(rows, 'anonymousMb');
  const core = (100 * (sumOf(rows, 'cpuMs') - before.cpuMs)) / IDLE_MS;
  const byName = Object.entries(Object.groupBy(rows, ({ name }) => name));
  const text = byName.map(([name, own]) => `${name} ${sumOf(own, 'anonymousMb').toFixed(1)}`).join(', ');
  process.stdout.write(
    `${what}: ${mb.toFixed(1)} MB, ${written} writes a minute, ${core.toFixed(1)} % of a core\n  ${text}\n`,
  );
  return mb;
}

async function until(id, reason) {
  for (;;) {
    const found = await call('GET', `/v2/deployments/${id}`);
    if (found.status_reason === reason) return found;
    await sleep(250);
  }
}

async function deploy(n) {
  const { id } = await call('POST', '/v2/deployments', {
    name: `idle-${n}`,
    source: 'internal_image',
    source_config: { resource_spec: { min_scale: 0 } },
    source_revision_config: { image_uri: 'sample-agent' },
    idle_seconds: 4,
  });
  return until(id, 'Asleep');
}

/** Milliseconds from a request to the first byte of its answer. */
async function wake({ url }) {
  const began = performance.now();
  const answer = await fetch(`${url}/threads/search`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: '{}',
  });
  const tookMs = performance.now() - began;
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
  await answer.text();
  return tookMs;
}

async function measureWakes(deployments, how) {
  const times = [];
  const load = loadavg()[0].toFixed(1);
  // the first start since the platform's teaches the node what the spares of the workspace are
  for (let n = 0; n <= WAKES; n++) {
    const deployment = deployments[n % deployments.length];
    await until(deployment.id, 'Asleep');
    const tookMs = await wake(deployment);
    if (n > 0) times.push(tookMs);
    await sleep(REFILL_MS);
  }
  times.sort((a, b) => a - b);
  const at = (share) => Math.round(times[Math.floor((times.length - 1) * share)]);
  process.stdout.write(
    `wake to first byte ${how}, ms: fastest ${at(0)}, p50 ${at(0.5)}, p95 ${at(0.95)} of ${WAKES}, load before ${load}\n`,
  );
}

try {
  const bareMb = await idleCost('no deployment', 30_000);
  const deployments = [];
  const sleepers = async (wanted) => {
    const next = Array.from({ length: wanted - deployments.length }, (_none, n) => deployments.length + n);
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let n = next.shift(); n !== undefined; n = next.shift()) deployments.push(await deploy(n));
      }),
    );
    return await idleCost(`${wanted} deployments at zero`, SETTLED_MS);
  };
  const few = Math.floor(count / 4);
  const fewMb = await sleepers(few);
  const allMb = await sleepers(count);
  process.stdout.write(
    `beyond the idle platform: ${(allMb - bareMb).toFixed(1)} MB; of one more deployment: ${((allMb - fewMb) / (count - few)).toFixed(3)} MB\n`,
  );
  await measureWakes(deployments, 'with a spare');
  await platform.stop();
  platform = await start(checkout, dataFolder, { AGENTPLANE_SPARES: '0' });
  await measureWakes(deployments, 'without spares');
} finally {
  await platform.stop();
  rmSync(dataFolder, { recursive: true, force: true });
}
