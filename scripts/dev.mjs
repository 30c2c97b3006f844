// npm run dev [-- ARGUMENTS of "agentplane up"]: the platform, built anew on every change of a source; what the change
// is in is restarted, and nothing else. docs: CONTRIBUTING.md.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, watch } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { compile, ensureBuilt } from '../bin/ensure-built.js';

const root = join(import.meta.dirname, '..');
const words = process.argv.slice(2);
const given = words.indexOf('--data');
const dataFolder = resolve(given < 0 ? '.agentplane' : words[given + 1]);

/** Programs that the supervisor starts again when they end. */
const CHILDREN = ['api', 'controller', 'embedded'];
/** Programs that run as pods, by the components of these; pods of Jobs have the new code with their next start. */
const PODS = { 'agent-server': ['agent-api', 'agent-queue'], listener: ['listener'] };
/** An editor writes several files at a time. */
const SETTLE_MS = 50;
const LOOK_MS = 50;
const PATIENCE_MS = 60_000;

const readJson = (name) => JSON.parse(readFileSync(join(dataFolder, name), 'utf8'));

/** Which sources each program has, of all libraries; files that are new since are imported by ones that changed. */
function sourcesByProgram() {
  const text = execFileSync(process.execPath, [join(root, 'bin', 'bundle.js'), '--inputs'], {
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  return Object.entries(JSON.parse(text)).map(([name, files]) => {
    const sources = files.map((file) => file.replace(/^dist\//, '').replace(/\.js$/, ''));
    return [name, new Set(sources)];
  });
}

/** The programs that a source is in; what an app loads beside its bundle is in its folder. */
function programsOf(file) {
  const source = file.replaceAll('\\', '/').replace(/\.tsx?$/, '');
  return programs.flatMap(([name, sources]) =>
    sources.has(source) || source.startsWith(`apps/${name}/`) ? [name] : [],
  );
}

if (!ensureBuilt()) process.exit(1);
const programs = sourcesByProgram();
let isRestarting = false;
let platform = start();

function start() {
  const child = spawn(process.execPath, [join(root, 'bin', 'agentplane.js'), 'up', ...words], {
    stdio: 'inherit',
  });
  child.once('exit', (code) => {
    if (!isRestarting) process.exit(code ?? 1);
  });
  return child;
}

async function restartAll() {
  isRestarting = true;
  const ended = new Promise((done) => platform.once('exit', done));
  platform.kill('SIGINT');
  await ended;
  isRestarting = false;
  platform = start();
}

async function until(found) {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(LOOK_MS))
    if (await Promise.resolve(found()).catch(() => false)) return true;
  return false;
}

/** Ends a program in order; the supervisor starts it again, with the new code. */
async function restartChild(name) {
  const { pid } = readJson('children.json')[name];
  process.kill(pid, 'SIGTERM');
  const { origin } = new URL(readJson('credentials.json').metrics[name]);
  return await until(async () => {
    const now = readJson('children.json')[name];
    return now !== undefined && now.pid !== pid && (await fetch(`${origin}/healthz`)).ok;
  });
}

async function restartPods(components) {
  const { KubeClient, loadKubeConnection } = await import('#lib/kube');
  const { PODS: pods } = await import('#lib/resources');
  const kubeconfigPath = join(dataFolder, 'kubeconfig');
  const client = new KubeClient(await loadKubeConnection({ kubeconfigPath }));
  const selection = { labelSelector: `app.kubernetes.io/component in (${components.join(',')})` };
  try {
    const { items: before } = await client.list(pods, selection);
    const old = new Set(before.map(({ metadata }) => metadata.uid));
    for (const { metadata } of before) await client.delete(pods, metadata);
    return await until(async () => {
      const { items } = await client.list(pods, selection);
      const fresh = items.filter(({ metadata }) => !old.has(metadata.uid));
      const isReady = ({ status }) =>
        status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True');
      return fresh.length >= before.length && fresh.every(isReady);
    });
  } finally {
    await client.close();
  }
}

async function restart(name) {
  if (CHILDREN.includes(name)) return await restartChild(name);
  return await restartPods(PODS[name]);
}

/** Compiles, and restarts what has a source that changed. It is not bundled: that takes as long as compiling. */
async function rebuild(files) {
  const startedMs = Date.now();
  if (!compile()) return;
  const stale = new Set(files.flatMap(programsOf));
  const took = () => `${((Date.now() - startedMs) / 1000).toFixed(1)} s`;
  if (stale.has('platform') || !existsSync(join(dataFolder, 'credentials.json'))) {
    process.stderr.write('the supervisor changed: restarting the platform\n');
    return await restartAll();
  }
  const names = [...CHILDREN, ...Object.keys(PODS)].filter((name) => stale.has(name));
  await Promise.all(
    names.map(async (name) => {
      const isBack = await restart(name).catch((error) => {
        process.stderr.write(`restarting ${name} failed: ${error.message}\n`);
      });
      process.stderr.write(
        `${name} ${isBack ? 'restarted' : 'is not ready yet'}, ${took()} after the change\n`,
      );
    }),
  );
  if (names.length === 0) process.stderr.write(`compiled in ${took()}; nothing that runs has changed\n`);
}

const changed = new Set();
let waiting;
let isBusy = false;

async function onSettled() {
  if (isBusy) return;
  isBusy = true;
  // what changes meanwhile is built next
  while (changed.size > 0) {
    const files = [...changed];
    changed.clear();
    await rebuild(files);
  }
  isBusy = false;
}

for (const folder of ['apps', 'libs'])
  watch(join(root, folder), { recursive: true }, (_event, name) => {
    if (name === null || !/\.tsx?$/.test(name) || /\.(spec|long)\.tsx?$|[\\/]testdata[\\/]/.test(name))
      return;
    changed.add(join(folder, name));
    clearTimeout(waiting);
    waiting = setTimeout(() => void onSettled(), SETTLE_MS);
  });
// this ends with the platform, which a Ctrl-C of the terminal reaches twice then: it takes no notice of the second
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => platform.kill(signal));
