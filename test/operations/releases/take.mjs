// node bin/node24.js test/operations/releases/take.mjs [--data DIR]: fills a new platform of this version with a little of
// everything, stops it, and keeps a backup of it in test/operations/releases/VERSION, with what its interfaces answered.
// `releases.spec.ts` starts today's code on each of these. Run it in a checkout of the release, from a path that says
// nothing about the machine: paths are stored.
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packSmaller } from './pack-smaller.mjs';

const root = join(import.meta.dirname, '..', '..', '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const target = join(import.meta.dirname, version);
const at = process.argv.indexOf('--data');
const folder = at > 0 ? process.argv[at + 1] : mkdtempSync(join(tmpdir(), 'agentplane-release-'));
const data = join(folder, 'data');

/** What changes with each start, day or version: addresses, times of use, signed links, words. */
const PASSING =
  /(^|_)(url|urls|path|seconds|heartbeat_at|used_at|updated_at|modified_at|message|behind|image_version)$/;

/** Versions of programs are texts; those of assistants are numbers, and stay. */
const isPassing = (name, value) => PASSING.test(name) || (name === 'version' && typeof value === 'string');

function lasting(value) {
  if (Array.isArray(value)) return value.map(lasting);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, member]) => !isPassing(name, member))
      .map(([name, member]) => [name, lasting(member)]),
  );
}

const agentplane = (...words) =>
  execFileSync(process.execPath, ['bin/agentplane.js', ...words, '--data', data], {
    ...{ cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
  }).trim();

async function ask(url, key, { method, body, more = {} } = {}) {
  const isForm = body instanceof FormData;
  const answer = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...{ 'x-api-key': key, ...more },
      ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method ?? ''} ${url} answered ${answer.status}: ${text.slice(0, 500)}`);
  return text === '' ? undefined : JSON.parse(text);
}

async function until(what, look) {
  for (let tries = 0; tries < 240; tries++) {
    const found = await look();
    if (found) return found;
    await sleep(250);
  }
  throw new Error(`${what} did not come within 60 s`);
}

async function start() {
  const child = spawn(
    process.execPath,
    ['bin/agentplane.js', 'up', '--data', data, '--listen', '127.0.0.1:0'],
    {
      ...{ cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
    },
  );
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (more) => (text += more));
  await until('the platform', () => /^Ready/m.test(text));
  return child;
}

/** Threads, runs, assistants, items and a cron of the deployment `sample`, over two revisions. */
async function fillAgent(rest, key) {
  agentplane('deploy', 'sample', '--image', 'sample-agent');
  const deployment = (await rest('/v2/deployments')).resources[0];
  const agent = (path, body, method) => ask(`${deployment.url}${path}`, key, { body, method });
  const sum = (text) => ({ messages: [{ role: 'user', content: text }] });
  const finished = await agent('/threads', { metadata: { owner: 'ann' } });
  await agent(`/threads/${finished.thread_id}/runs/wait`, {
    ...{ assistant_id: 'agent', input: sum('what is 2 + 40?') },
  });
  const secrets = [{ name: 'GREETING', value: 'kept since the release' }];
  await rest(`/v2/deployments/${deployment.id}`, { secrets }, 'PATCH');
  await until('the second revision', async () => {
    const { active_revision_id, latest_revision_id } = await rest(`/v2/deployments/${deployment.id}`);
    return active_revision_id === latest_revision_id && latest_revision_id !== deployment.latest_revision_id;
  });
  const paused = await agent('/threads', {});
  const before = {
    assistant_id: 'agent',
    input: sum('what is 3 * 5?'),
    interrupt_before: ['tools'],
  };
  await agent(`/threads/${paused.thread_id}/runs/wait`, before);
  const assistant = await agent('/assistants', { graph_id: 'agent', name: 'kept', metadata: { n: 1 } });
  await agent(`/assistants/${assistant.assistant_id}`, { metadata: { n: 2 } }, 'PATCH');
  const value = { likes: ['tea'], since: 2026 };
  await agent('/store/items', { namespace: ['people', 'ann'], key: 'profile', value }, 'PUT');
  await agent('/runs/crons', { assistant_id: 'agent', schedule: '0 3 1 1 *', input: sum('1 + 1') });
  const waiting = await agent('/threads', {});
  // long enough to be pending when the platform is stopped: the next start runs it
  const delayed = await agent(`/threads/${waiting.thread_id}/runs`, {
    ...{ assistant_id: 'agent', input: sum('what is 6 * 7?'), after_seconds: 45 },
  });
  return {
    ...{ agent, deployment, finished: finished.thread_id, paused: paused.thread_id },
    ...{ assistant: assistant.assistant_id, waiting: waiting.thread_id, delayed: delayed.run_id },
  };
}

/** A trace of two runs with an attachment, feedback, a dataset, a prompt. */
async function fillTraces(rest, key, restUrl) {
  const [id, child] = [randomUUID(), randomUUID()];
  const time = new Date().toISOString();
  const order = `${time.replace(/[-:.]/g, '').replace('Z', '000Z')}`;
  const run = (one, more) => ({
    ...{
      id: one,
      trace_id: id,
      run_type: 'chain',
      session_name: 'by hand',
      start_time: time,
      end_time: time,
    },
    ...more,
  });
  const runs = [
    [run(id, { name: 'whole', dotted_order: `${order}${id}`, tags: ['kept'] }), { question: 'why?' }],
    [
      run(child, { name: 'part', parent_run_id: id, dotted_order: `${order}${id}.${order}${child}` }),
      { text: 'é'.repeat(4_000) },
    ],
  ];
  const form = new FormData();
  const part = (name, value, type) => form.append(name, new Blob([value], { type }), name);
  for (const [one, inputs] of runs) {
    part(`post.${one.id}`, JSON.stringify(one), 'application/json');
    part(`post.${one.id}.inputs`, JSON.stringify(inputs), 'application/json');
  }
  part(`attachment.${id}.note`, 'kept with its run', 'text/plain; length=17');
  await ask(`${restUrl}/runs/multipart`, key, { body: form });
  await until('the trace', () => rest(`/runs/${child}`).catch(() => undefined));
  await rest('/feedback', { run_id: id, trace_id: id, key: 'helpful', score: 0.75, comment: 'mostly' });
  const dataset = await rest('/datasets', { name: 'questions', description: 'of the release' });
  const example = randomUUID();
  const upload = new FormData();
  for (const [name, content] of [
    [example, {}],
    [`${example}.inputs`, { q: 1 }],
    [`${example}.outputs`, { a: 2 }],
  ])
    upload.append(name, new Blob([JSON.stringify(content)], { type: 'application/json' }), name);
  await rest(`/v1/platform/datasets/${dataset.id}/examples`, upload);
  await rest('/repos', { repo_handle: 'kept' });
  const { commit } = await rest('/commits/-/kept', { manifest: { template: '{a}' } });
  await rest('/repos/-/kept/tags', { tag_name: 'prod', commit_id: commit.id });
  return { trace: id, child, dataset: dataset.id };
}

/** A finished export, and a schedule that is paused with most of its windows before it. */
async function fillExports(rest) {
  const [project] = await until('the project', async () => {
    const found = await rest('/sessions?name=sample');
    return found.length > 0 && found;
  });
  agentplane('export', 'create', 'kept', '--project', 'sample', '--wait');
  const [done] = await rest('/api/v1/bulk-exports');
  const day = 86_400_000;
  const begin = new Date(Math.floor(Date.now() / day) * day - 60 * day).toISOString();
  const schedule = await rest('/api/v1/bulk-exports', {
    ...{ bulk_export_destination_id: done.bulk_export_destination_id, session_id: project.id },
    ...{ start_time: begin, interval_hours: 24 },
  });
  const path = `/api/v1/bulk-exports?source_bulk_export_id=${schedule.id}`;
  await until('an export of the schedule', async () => (await rest(path)).length > 0);
  await rest(`/api/v1/bulk-exports/${schedule.id}`, { paused: true }, 'PATCH');
  const made = await until('the exports of the schedule', async () => {
    const all = await rest(path);
    return all.every(({ status }) => status === 'COMPLETED') && all;
  });
  if (made.length > 50) throw new Error(`the schedule was paused after ${made.length} of its 60 windows`);
  return { project: project.id, export: done.id, schedule: schedule.id };
}

async function fill() {
  const { restUrl, apiKey, tenantId } = JSON.parse(readFileSync(join(data, 'credentials.json'), 'utf8'));
  const rest = (path, body, method) =>
    ask(`${restUrl}${path}`, apiKey, { body, method, more: { 'x-tenant-id': tenantId } });
  agentplane('workspace', 'create', 'research', '--plan', 'plus', '--display-name', 'Research');
  const readKey = agentplane('keys', 'create', 'reader', '--scope', 'read');
  const researchKey = agentplane('keys', 'create', 'theirs', '--workspace', 'research');
  const resting = await rest('/v2/deployments', {
    ...{ name: 'resting', source: 'internal_image', source_revision_config: { image_uri: 'sample-agent' } },
    source_config: {
      resource_spec: {
        ...{ min_scale: 1, max_scale: 3, cpu: 0.5, memory_mb: 256, db_max_connections: 12 },
        ...{ labels: { team: 'kept' }, volumes: [{ name: 'scratch', emptyDir: {} }] },
        volume_mounts: [{ name: 'scratch', mountPath: '/scratch' }],
      },
    },
    secrets: [{ name: 'TOKEN', value: 'at rest' }],
  });
  await rest(`/v2/deployments/${resting.id}`, { suspend: true }, 'PATCH');
  const traces = await fillTraces(rest, apiKey, restUrl);
  const { agent, deployment, ...ids } = await fillAgent(rest, apiKey);
  const exports = await fillExports(rest);
  const record = async (by, paths) => {
    const answers = [];
    for (const path of paths) answers.push({ path, answer: lasting(await by(path)) });
    return answers;
  };
  const listed = await rest(`/runs/query`, { session: [exports.project] });
  const { status } = await agent(`/threads/${ids.waiting}/runs/${ids.delayed}`);
  if (status !== 'pending')
    throw new Error(`the delayed run is ${status}: it was to wait for the next start`);
  const revisions = (await rest(`/v2/deployments/${deployment.id}/revisions`)).resources;
  return {
    ...{ apiKey, tenantId, readKey, researchKey, ...traces, ...ids, ...exports },
    ...{ deployment: deployment.id, runs: listed.runs.length },
    rest: await record(rest, [
      ...['/api/v1/api-key', '/v2/listeners', '/api/v1/bulk-exports/destinations'],
      ...[`/v2/deployments/${deployment.id}`, `/v2/deployments/${resting.id}`],
      ...revisions.map(({ id }) => `/v2/deployments/${deployment.id}/revisions/${id}`),
      ...[`/runs/${traces.trace}`, `/runs/${traces.child}`, `/feedback?run=${traces.trace}`],
      ...['/repos/-/kept', '/commits/-/kept/prod'],
      ...[`/datasets/${traces.dataset}`, `/examples?dataset=${traces.dataset}`],
      ...[`/api/v1/bulk-exports/${exports.export}`, `/api/v1/bulk-exports/${exports.export}/runs`],
      `/api/v1/bulk-exports?source_bulk_export_id=${exports.schedule}`,
    ]),
    agent: await record(agent, [
      ...[ids.finished, ids.paused].flatMap((id) => [`/threads/${id}`, `/threads/${id}/state`]),
      ...[`/threads/${ids.finished}/runs`, `/assistants/${ids.assistant}`],
      '/store/items?namespace=people.ann&key=profile',
    ]),
  };
}

if (existsSync(target))
  throw new Error(`${target} exists: what a version has stored does not change any more`);
mkdirSync(folder, { recursive: true });
chmodSync(folder, 0o755);
const platform = await start();
try {
  const holds = await fill();
  agentplane('down');
  const backup = join(folder, 'backup');
  agentplane('backup', '--to', backup);
  packSmaller(backup, target);
  writeFileSync(join(target, 'holds.json'), `${JSON.stringify(holds)}\n`);
} finally {
  platform.kill('SIGINT');
  await sleep(5_000);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
