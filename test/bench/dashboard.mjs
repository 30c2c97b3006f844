// First paint of the dashboard, and the time from a key to the next frame, over 50,000 export runs on a pseudo terminal of
// 160 x 50. The objects are in memory: reading them from an API server comes on top.
import { spawn } from 'node:child_process';
import { loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { readArguments } from './read-arguments.mjs';

const repository = resolve(import.meta.dirname, '..', '..');
const { OBJECTS: objects, CHANGES: changes } = readArguments(
  `npm run bench -- dashboard [OBJECTS [CHANGES]]

First paint of the dashboard over OBJECTS (50,000) export runs, and the time from a key to the next frame while nothing
changes and while CHANGES (200) of them do each second.`,
  { counts: { OBJECTS: 50_000, CHANGES: 200 } },
).counts;
const program = join(repository, 'dist', 'apps', 'tui', 'scene.mjs');
const KEYS = 100;

await build({
  entryPoints: [join(repository, 'apps', 'tui', 'src', 'testdata', 'main.ts')],
  outfile: program,
  ...{ bundle: true, packages: 'external', platform: 'node', format: 'esm', jsx: 'automatic' },
});

function pause(ms) {
  return new Promise((resume) => setTimeout(resume, ms));
}

function percentile(values, share) {
  return [...values].sort((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? 0;
}

/** @param key what is pressed again and again @param moving how many objects change each second */
async function measure(key, moving) {
  const startedAt = performance.now();
  const child = spawn(
    'script',
    ['-qec', `stty cols 160 rows 50; exec "${process.execPath}" "${program}"`, '/dev/null'],
    {
      env: {
        ...process.env,
        NODE_ENV: 'production', // as the program's own start sets it
        TERM: 'xterm',
        SHELL: '/bin/sh',
        FORCE_COLOR: '1',
        SCENE_OBJECTS: objects,
        SCENE_CHANGES: moving,
        SCENE_VIEW: 'runs',
      },
    },
  );
  let paintedAt = 0;
  let bytes = 0;
  let onOutput = () => undefined;
  child.stdout.setEncoding('utf8').on('data', (output) => {
    bytes += output.length;
    if (paintedAt === 0 && output.includes('Queued')) paintedAt = performance.now();
    onOutput();
  });
  while (paintedAt === 0) await pause(5);
  await pause(2_000);
  const times = [];
  for (let at = 0; at < KEYS; at++) {
    const pressedAt = performance.now();
    const painted = new Promise((done) => (onOutput = done));
    child.stdin.write(key);
    await Promise.race([painted, pause(2_000)]);
    times.push(performance.now() - pressedAt);
    await pause(40);
  }
  child.stdin.write('\u0003');
  await new Promise((done) => child.once('exit', done));
  return {
    firstPaintMs: paintedAt - startedAt,
    p50: percentile(times, 0.5),
    p95: percentile(times, 0.95),
    bytes,
  };
}

process.stdout.write(`${objects} objects, load ${loadavg()[0]?.toFixed(1)}\n`);
for (const [what, key, moving] of [
  ['one row down', 'j', '0'],
  ['a page down', '\u0006', '0'],
  [`one row down, ${changes} changes each second`, 'j', changes],
]) {
  const { firstPaintMs, p50, p95, bytes } = await measure(key, moving);
  process.stdout.write(
    `${what}: first paint ${Math.round(firstPaintMs)} ms, key to paint p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, ${Math.round(bytes / KEYS)} bytes a key\n`,
  );
}
