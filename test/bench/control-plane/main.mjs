// The control plane on one machine: from a change to the revision that serves it, rollbacks, how soon a failure is explained,
// and from a push to the agent that was built of it.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { start } from '../platform-cost.mjs';
import { readArguments } from '../read-arguments.mjs';
import { startGitHost } from './git-host.mjs';
import { openRest } from './rest.mjs';

const { TIMES: times } = readArguments(
  `npm run bench -- control-plane [TIMES]

The control plane on one machine: from a change to the revision that serves it, rollbacks, how soon a failure is explained,
and from a push to the agent that was built of it. TIMES (5) of each.`,
  { counts: { TIMES: 5 } },
).counts;
const repository = resolve(import.meta.dirname, '..', '..', '..');
const dataFolder = mkdtempSync(join(tmpdir(), 'agentplane-bench-'));
const LOOK_MS = 25;
const PATIENCE_MS = 180_000;
const sleep = (ms) => new Promise((resume) => setTimeout(resume, ms));

const git = await startGitHost(join(repository, 'examples', 'agent'));
const platform = await start(repository, dataFolder);
const rest = openRest(JSON.parse(readFileSync(join(dataFolder, 'credentials.json'), 'utf8')));

/** What `look` finds in the end, and how long that took from `began`. */
async function until(what, look, began = performance.now()) {
  const deadline = performance.now() + PATIENCE_MS;
  while (performance.now() < deadline) {
    const found = await look();
    if (found) return { found, tookMs: performance.now() - began };
    await sleep(LOOK_MS);
  }
  throw new Error(`waited ${PATIENCE_MS / 1000} s for ${what}`);
}

function deploy(name, more = {}) {
  return rest.call('POST', '/v2/deployments', {
    ...{ name, source: 'internal_image', source_config: {}, secrets: [], min_ready_seconds: 0 },
    source_revision_config: { image_uri: 'sample-agent' },
    ...more,
  });
}

/** The revision that answers at the URL of a deployment; undefined while none does. */
async function answering({ url }) {
  if (!url) return undefined;
  try {
    return (await (await fetch(`${url}/info`)).json()).revision_id;
  } catch {
    return undefined;
  }
}

async function served(deployment, began) {
  const { id, latest_revision_id: latest } = deployment;
  return until(
    `revision ${latest}`,
    async () => {
      const found = await rest.call('GET', `/v2/deployments/${id}`);
      return found.active_revision_id === latest && found.url !== null && found;
    },
    began,
  );
}

const change = (id, value) =>
  rest.call('PATCH', `/v2/deployments/${id}`, { secrets: [{ name: 'CHANGE', value: String(value) }] });

/** Requests go on meanwhile: one that fails is counted. */
function steadyRequests(url) {
  let stopped = false;
  const seen = { asked: 0, failed: 0 };
  const loop = (async () => {
    while (!stopped) {
      seen.asked++;
      const answer = await fetch(`${url}/ok`).catch(() => undefined);
      if (answer?.status !== 200) seen.failed++;
      await answer?.text();
      await sleep(10);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await loop;
      return seen;
    },
  };
}

async function measureRollouts() {
  const began = performance.now();
  const first = await served(await deploy('rollouts'), began);
  const { id, url } = first.found;
  const requests = steadyRequests(url);
  const [applied, warm, cold] = [[], [], []];
  for (let n = 0; n < times; n++) {
    const former = (await rest.call('GET', `/v2/deployments/${id}`)).active_revision_id;
    const changedAt = performance.now();
    const changed = await served(await change(id, n), changedAt);
    applied.push(changed.tookMs);
    const backAt = performance.now();
    const back = await rest.call('POST', `/v2/deployments/${id}/revisions/${former}/redeploy`);
    warm.push((await served(back, backAt)).tookMs);
  }
  for (let n = 0; n < Math.floor(times / 5); n++) {
    const former = (await rest.call('GET', `/v2/deployments/${id}`)).active_revision_id;
    await served(await change(id, `cold-${n}`), performance.now());
    // a standby is warm for a minute; two, where what took over has just become ready
    await sleep(130_000);
    const backAt = performance.now();
    const back = await rest.call('POST', `/v2/deployments/${id}/revisions/${former}/redeploy`);
    cold.push((await served(back, backAt)).tookMs);
  }
  const { asked, failed } = await requests.stop();
  row('create → first answer', [first.tookMs]);
  row('apply → new revision serving', applied);
  row('rollback to a warm standby', warm);
  row('rollback to a cold standby', cold);
  process.stdout.write(`requests meanwhile: ${asked}, failed: ${failed}\n`);
}

/** Deployments that never serve, and what shows that REST says why. */
const FAILURES = {
  'image does not exist': [{ source_revision_config: { image_uri: 'no-such-image' } }, /no-such-image/],
  'service account does not exist': [
    { source_config: { resource_spec: { service_account_name: 'nobody' } } },
    /serviceaccount "nobody" not found/,
  ],
  'no room': [{ source_config: { resource_spec: { memory_mb: 1_000_000 } } }, /Insufficient memory|quota/i],
};

/** Until REST says why the revision does not serve. */
async function measureFailures() {
  for (const [kind, [more, expected]] of Object.entries(FAILURES)) {
    const took = [];
    for (let n = 0; n < Math.min(3, times); n++) {
      const began = performance.now();
      const { id, latest_revision_id: revision } = await deploy(
        `broken-${kind.replaceAll(' ', '-')}-${n}`,
        more,
      );
      const path = `/v2/deployments/${id}/revisions/${revision}`;
      const look = async () => expected.test((await rest.find(path))?.status_message ?? '');
      took.push((await until(kind, look, began)).tookMs);
      await rest.call('DELETE', `/v2/deployments/${id}`);
    }
    row(`explained by REST: ${kind}`, took);
  }
}

async function measurePushes() {
  const { id: integration } = await rest.call('POST', '/v1/integrations/git_host', {
    ...{ name: 'bench', host: git.host, token: 'x', ca_certificate: git.ca },
  });
  const { url, secret } = await rest.call('PUT', `/v1/integrations/git_host/${integration}/webhook`, {});
  const began = performance.now();
  const made = await rest.call('POST', '/v2/deployments', {
    ...{ name: 'pushed', source: 'git_host', secrets: [], min_ready_seconds: 0 },
    source_config: { repo_url: git.url, integration_id: integration, build_on_push: true },
    source_revision_config: { repo_ref: 'main', graph_config_path: 'langgraph.json' },
  });
  row('create from git → serving', [(await served(made, began)).tookMs]);
  const took = [];
  for (let n = 0; n < times; n++) {
    const commit = git.push(n);
    const pushedAt = performance.now();
    await git.announce(url, secret, commit);
    const path = `/v2/deployments/${made.id}`;
    const done = await until(
      'the push',
      async () => {
        const { active_revision_id: active } = await rest.call('GET', path);
        const revision = await rest.find(`${path}/revisions/${active}`);
        return revision?.source_revision_config.repo_commit_sha === commit;
      },
      pushedAt,
    );
    took.push(done.tookMs);
  }
  row('push → build → serving, announced by webhook', took);
}

function row(what, took) {
  if (took.length === 0) return;
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share) => (sorted[Math.floor((sorted.length - 1) * share)] / 1000).toFixed(2);
  const load = loadavg()[0].toFixed(1);
  process.stdout.write(
    `| ${what} | ${at(0.5)} s (${at(0)} to ${at(1)}), of ${took.length} | load ${load} |\n`,
  );
}

try {
  await measureRollouts();
  await measureFailures();
  await measurePushes();
} finally {
  await platform.stop();
  git.close();
  rmSync(dataFolder, { recursive: true, force: true });
}
