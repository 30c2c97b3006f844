// Deployments at zero on one machine: the memory and the CPU that they take and the writes that they cause while nobody
// uses them.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execFileSync } from 'node:child_process';
import { costOf, processes, start } from './platform-cost.mjs';
import { restOf } from './platform-rest.mjs';
import { readArguments } from './read-arguments.mjs';

const { DEPLOYMENTS: count } = readArguments(
  `npm run bench -- scale-to-zero [DEPLOYMENTS]

DEPLOYMENTS (100) at zero on one machine, and a quarter of them before: the memory and the CPU that they take and the
writes that they cause while nobody uses them, and the memory of one more. Each is started once, which takes most of the
time.`,
  { counts: { DEPLOYMENTS: 100 } },
).counts;
const IDLE_MS = 60_000;
/** The API server keeps changes of objects for five minutes, as etcd does; then nothing but the deployments is left. */
const SETTLED_MS = 360_000;
const AT_ONCE = 4;
const sleep = (ms) => new Promise((resume) => setTimeout(resume, ms));

const dataFolder = mkdtempSync(join(tmpdir(), 'agentplane-bench-'));
const checkout = resolve(import.meta.dirname, '..', '..');
const platform = await start(checkout, dataFolder);
const rest = restOf(dataFolder);
const { kubeconfig } = JSON.parse(readFileSync(join(dataFolder, 'credentials.json'), 'utf8'));

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

try {
  const bareMb = await idleCost('no deployment', 30_000);
  const deployments = [];
  const sleepers = async (wanted) => {
    const next = Array.from({ length: wanted - deployments.length }, (_none, n) => deployments.length + n);
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let n = next.shift(); n !== undefined; n = next.shift()) {
          deployments.push(await rest.deploySleeper('sample-agent', `idle-${n}`));
        }
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
} finally {
  await platform.stop();
  rmSync(dataFolder, { recursive: true, force: true });
}
