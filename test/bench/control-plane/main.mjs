// The control plane on one machine: from a change to the revision that serves it, rollbacks, how soon a failure is explained,
// and from a push to the agent that was built of it.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { start } from '../platform-cost.mjs';
import { readArguments, refuse } from '../read-arguments.mjs';
import { measureFailures } from './failures.mjs';
import { startGitHost } from './git-host.mjs';
import { measurePushes } from './pushes.mjs';
import { openRest } from './rest.mjs';
import { measureRollouts } from './rollouts.mjs';

const PARTS = { rollouts: measureRollouts, failures: measureFailures, pushes: measurePushes };
const HELP = `npm run bench -- control-plane [TIMES [rollouts|failures|pushes…]] [--cold COUNT]

The control plane on one machine: from a change to the revision that serves it, rollbacks, how soon a failure is explained,
and from a push to the agent that was built of it. TIMES (5) of each, failures three at most; COUNT (a fifth of TIMES)
rollbacks to a cold standby, each of which waits for two minutes.`;
const {
  counts,
  more: asked,
  values,
} = readArguments(HELP, {
  counts: { TIMES: 5 },
  options: { cold: { type: 'string' } },
  more(part) {
    if (!Object.hasOwn(PARTS, part)) throw new Error(`unknown argument ${part}`);
    return part;
  },
});
const times = counts.TIMES;
const cold = values.cold === undefined ? Math.floor(times / 5) : Number(values.cold);
if (!Number.isInteger(cold) || cold < 0) refuse(`--cold ${values.cold}: give a whole number`, HELP);
const repository = resolve(import.meta.dirname, '..', '..', '..');
const dataFolder = mkdtempSync(join(tmpdir(), 'agentplane-bench-'));

const git = await startGitHost(join(repository, 'examples', 'agent'));
const platform = await start(repository, dataFolder);
const credentials = JSON.parse(readFileSync(join(dataFolder, 'credentials.json'), 'utf8'));
const { kubeconfig } = credentials;
const parts = { rest: openRest(credentials), kubeconfig, repository, dataFolder, git, times, cold };

try {
  for (const part of asked.length > 0 ? asked : Object.keys(PARTS)) await PARTS[part](parts);
} finally {
  await platform.stop();
  git.close();
  rmSync(dataFolder, { recursive: true, force: true });
}
