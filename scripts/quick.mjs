// npm run test:quick: what a change can break within two minutes. Types, lint and format of what changed, the spec files
// that reach it, and all that start no server. npm run test:quick -- PATH... takes these paths for the change.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { planSpecs } from './tests/affected.mjs';
import { buildGraph, openParser } from './tests/module-graph.mjs';
import { openRunFolder, removeRun } from './tests/run-folder.mjs';

/** Spec files at a time; types and lint run beside them. */
const FILES = 3;
/** Estimated total of the spec files that reach the change; about half of it on two processors. */
const MAX_SECONDS = 100;
/** Seconds of spec files in a former run, by their paths. */
const DURATIONS = 'test/durations.json';
const node = process.execPath;
const CODE = /\.[cm]?[jt]sx?$/;
const started = performance.now();
const secondsSince = (start) => `${((performance.now() - start) / 1000).toFixed(1)} s`;

const gitOptions = { encoding: 'utf8', maxBuffer: 2 ** 26 };
const git = (...words) => execFileSync('git', words, gitOptions).split('\n').filter(Boolean);
const list = (...words) => git('ls-files', '--exclude-standard', ...words);

/** The paths that changed since this branch left main, and how the change is described. */
function findChange(paths) {
  if (paths.length > 0) return [list('-co', '--', ...paths), paths.join(' ')];
  const mains = ['refs/remotes/origin/main', 'refs/heads/main'];
  const [main = 'HEAD'] = git('for-each-ref', '--format=%(refname)', '--sort=-refname', ...mains);
  const [base] = git('merge-base', main, 'HEAD');
  const tracked = git('diff', '--name-only', '--no-renames', base);
  return [[...tracked, ...list('-o')], `everything since ${base.slice(0, 8)} of ${main}`];
}

function readModules() {
  const code = list('-co', 'apps', 'libs', 'test', 'scripts', 'bin').filter((file) => CODE.test(file));
  const files = code.filter((file) => existsSync(file));
  const sources = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
  const parser = openParser('node_modules/.cache/module-graph.json');
  const modules = new Map(Array.from(sources, ([path, source]) => [path, parser.parse(path, source)]));
  parser.save();
  return { sources, graph: buildGraph(modules) };
}

/** Runs a command to its end, then prints its result, and its output when it failed. */
async function check(name, command, ...words) {
  const start = performance.now();
  const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await once(child, 'exit');
  const seconds = secondsSince(start);
  console.log(
    code === 0 ? `passed: ${name}, ${seconds}` : `FAILED: ${name}, ${seconds}\n${(await output).join('')}`,
  );
  return code === 0;
}

/** Runs spec files in that order; prints those that fail, and counts those that pass. */
async function runSpecs(files) {
  const order = ['--testSequencer=./scripts/tests/given-order.mjs', `--maxWorkers=${FILES}`];
  const words = ['node_modules/jest/bin/jest.js', ...order, '--runTestsByPath', ...files];
  const child = spawn(node, words, { stdio: ['ignore', 'inherit', 'pipe'] });
  const exit = once(child, 'exit');
  let passed = 0;
  for await (const line of createInterface({ input: child.stderr })) {
    if (!/^\S*PASS /.test(line)) console.log(line);
    else if (++passed % 50 === 0) console.log(`passed: ${passed} of ${files.length} spec files`);
  }
  return (await exit)[0] === 0;
}

const [changed, change] = findChange(process.argv.slice(2));
if (changed.length === 0) {
  console.log(`Nothing changed: ${change}`);
  process.exit(process.argv.length > 2 ? 1 : 0);
}
const { sources, graph } = readModules();
const durations = existsSync(DURATIONS) ? JSON.parse(readFileSync(DURATIONS, 'utf8')) : {};
const plan = planSpecs(sources, graph, changed, { durations, maxSeconds: MAX_SECONDS });

console.log(`${changed.length} changed files: ${change}`);
console.log(`${plan.selected.length} spec files reach them (found in ${secondsSince(started)}):`);
for (const way of plan.selected) console.log(`  ${way.join(' ← ')}`);
console.log(`${plan.ring.length} other spec files run for every change: they are quick and start no server.`);
if (plan.global.length > 0) console.log(`All spec files depend on ${plan.global.join(', ')}.`);
if (plan.unread.length > 0) console.log(`No spec file was found for ${plan.unread.join(', ')}.`);
console.log(
  `Left to npm test: ${plan.borders} spec files of test/ with servers, and ${plan.left.length} more:`,
);
for (const spec of plan.left) console.log(`  ${spec}`);

process.env.NODE_COMPILE_CACHE ??= resolve('node_modules', '.cache', 'compiled');
const folder = openRunFolder();
const present = changed.filter((file) => existsSync(file));
const format = ['node_modules/prettier/bin/prettier.cjs', '--check', '--ignore-unknown'];
const code = present.filter((file) => CODE.test(file));
const cached = ['--cache', '--cache-location', 'node_modules/.cache/eslint/'];
const lint = ['node_modules/eslint/bin/eslint.js', '--no-warn-ignored', ...cached];
// a fifth of the processor time of a whole check
const incremental = ['--incremental', 'true', '--tsBuildInfoFile', 'node_modules/.cache/types.tsbuildinfo'];
const specs = [...plan.selected.map(([spec]) => spec), ...plan.ring];
const results = await Promise.all([
  check('types', 'npm', 'run', '-s', 'types', '--', ...incremental),
  code.length === 0 || check('lint', node, ...lint, ...code),
  present.length === 0 || check('format', node, ...format, ...present),
  (!plan.servers || (await check('build', node, 'bin/build.js'))) && runSpecs(specs),
]);
removeRun(folder);
const hasPassed = results.every(Boolean);
console.log(
  `${hasPassed ? 'Passed' : 'FAILED'} in ${secondsSince(started)}: ${specs.length} spec files and checks`,
);
process.exit(hasPassed ? 0 : 1);
