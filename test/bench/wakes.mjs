// How long the first request to a sleeping agent waits, by the kind of agent; many wakes at once; and an update until it
// serves.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { start } from './platform-cost.mjs';
import { percentiles, restOf } from './platform-rest.mjs';
import { readArguments } from './read-arguments.mjs';

const { counts, values } = readArguments(
  `npm run bench -- wakes [WAKES] [BURST] [--python PYTHON]

The first request to a sleeping agent, until the first byte of its answer: WAKES (25) one after another, of an agent in
JavaScript with a spare process and without, one second after it fell asleep, and of one in Python, where PYTHON names an
interpreter of the tests. Then BURST (20) agents are woken at the same moment, and one agent gets another variable.`,
  { counts: { WAKES: 25, BURST: 20 }, options: { python: { type: 'string' } } },
);
/** A claimed spare is replaced by then. */
const REFILL_MS = 4_000;
const SOON_MS = 1_000;
const AT_ONCE = 4;
const checkout = resolve(import.meta.dirname, '..', '..');
const dataFolder = mkdtempSync(join(tmpdir(), 'agentplane-bench-'));
const sleep = (ms) => new Promise((resume) => setTimeout(resume, ms));
let platform = await start(checkout, dataFolder);
const rest = restOf(dataFolder);

async function measure(how, deployment, pauseMs) {
  const load = loadavg()[0].toFixed(1);
  const times = [];
  // the first start of a workspace says what its spares are
  for (let n = 0; n <= counts.WAKES; n++) {
    await rest.untilAsleep(deployment.id);
    await sleep(pauseMs);
    const tookMs = await rest.wake(deployment);
    if (n > 0) times.push(tookMs);
  }
  process.stdout.write(`${how}, ms: ${percentiles(times)}, load before ${load}\n`);
}

async function update({ id, url }) {
  const { latest_revision_id: before } = await rest.call('GET', `/v2/deployments/${id}`);
  const began = performance.now();
  await rest.call('PATCH', `/v2/deployments/${id}`, { secrets: [{ name: 'CHANGED', value: String(began) }] });
  for (;;) {
    const { active_revision_id: active, latest_revision_id: latest } = await rest.call(
      'GET',
      `/v2/deployments/${id}`,
    );
    if (latest !== before && active === latest) break;
    await sleep(10);
  }
  await rest.wake({ url });
  return performance.now() - began;
}

try {
  const one = await rest.deploySleeper('sample-agent', 'one');
  await measure('with a spare', one, REFILL_MS);
  await measure('with a spare, a second after it fell asleep', one, SOON_MS);
  if (values.python) {
    const folder = join(checkout, 'examples', 'new-python-agent');
    const add = ['bin/agentplane.js', 'image', 'add', 'python-agent', folder, '--data', dataFolder];
    execFileSync(process.execPath, add, { cwd: checkout, stdio: 'ignore' });
    await measure('in Python', await rest.deploySleeper('python-agent', 'python'), REFILL_MS);
  }
  const many = [];
  while (many.length < counts.BURST) {
    const names = Array.from(
      { length: Math.min(AT_ONCE, counts.BURST - many.length) },
      (_, n) => `many-${many.length + n}`,
    );
    many.push(...(await Promise.all(names.map((name) => rest.deploySleeper('sample-agent', name)))));
  }
  await sleep(REFILL_MS);
  const burst = await Promise.all(many.map((deployment) => rest.wake(deployment)));
  process.stdout.write(`${many.length} at the same moment, ms: ${percentiles(burst)}\n`);
  const updates = [];
  for (let n = 0; n < 7; n++) updates.push(await update(one));
  process.stdout.write(`changed variable to the new revision serving, ms: ${percentiles(updates)}\n`);
  await platform.stop();
  platform = await start(checkout, dataFolder, { AGENTPLANE_SPARES: '0' });
  await measure('without spares', one, REFILL_MS);
} finally {
  await platform.stop();
  rmSync(dataFolder, { recursive: true, force: true });
}
