// Cold start (installed, built, empty data folder) to "Ready", and the memory of the idle platform by process.
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { costOf, processes, start } from './platform-cost.mjs';
import { readArguments } from './read-arguments.mjs';

const repository = resolve(import.meta.dirname, '..', '..');
const { more } = readArguments(
  `npm run bench -- cold-start [FOLDER…]

Cold start of the platform to "Ready", and the memory of the idle platform by process. Each FOLDER is a further checkout,
built, and measured in turns with this one.`,
  { more: (folder) => resolve(folder) },
);
const checkouts = [repository, ...more];
const ROUNDS = 7;
const IDLE_MS = 20_000;

function nameOf(args) {
  const app = /apps\/([a-z-]+)\/src\/main\.js/.exec(args)?.[1];
  if (app) return ['cli', 'platform'].includes(app) ? 'supervisor' : app;
  if (/postgres/.test(args)) return 'postgres (all)';
  if (/agentplane\.js/.test(args)) return 'starter';
  return args.slice(0, 40);
}

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0;
}

/** What one start costs: its time, and after a while of idleness what each program holds. */
async function measure(checkout) {
  const dataFolder = mkdtempSync(join(tmpdir(), 'agentplane-bench-'));
  const platform = await start(checkout, dataFolder);
  await new Promise((resume) => setTimeout(resume, IDLE_MS));
  const costs = { all: { rssMb: 0, pssMb: 0, anonymousMb: 0, cpuMs: 0 } };
  for (const { pid, args } of processes(dataFolder, platform.pid)) {
    const name = nameOf(args);
    costs[name] ??= { rssMb: 0, pssMb: 0, anonymousMb: 0, cpuMs: 0 };
    for (const [what, amount] of Object.entries(costOf(pid))) {
      costs[name][what] += amount;
      costs.all[what] += amount;
    }
  }
  await platform.stop();
  rmSync(dataFolder, { recursive: true, force: true });
  return { tookMs: platform.tookMs, costs };
}

const results = new Map(checkouts.map((checkout) => [checkout, []]));
for (let round = 0; round < ROUNDS; round++)
  // in turns and in turned order, so that what else the machine does meets each of them alike
  for (const checkout of round % 2 ? [...checkouts].reverse() : checkouts) {
    const load = loadavg()[0].toFixed(1);
    const result = await measure(checkout);
    results.get(checkout).push(result);
    const { pssMb, cpuMs } = result.costs.all;
    const took = `${(result.tookMs / 1000).toFixed(2)} s to Ready, ${(cpuMs / 1000).toFixed(1)} s of CPU`;
    process.stdout.write(`${checkout}: ${took}, ${pssMb.toFixed(0)} MB, load before ${load}\n`);
  }

for (const [checkout, rounds] of results) {
  const times = rounds.map(({ tookMs }) => tookMs);
  process.stdout.write(
    `\n${checkout}: median ${(median(times) / 1000).toFixed(2)} s, fastest ${(Math.min(...times) / 1000).toFixed(2)} s\n`,
  );
  process.stdout.write(
    `medians, MB after ${IDLE_MS / 1000} s  proportional  anonymous  resident    CPU, ms\n`,
  );
  const names = Object.keys(rounds[0].costs);
  const of = (name, what) => median(rounds.map(({ costs }) => costs[name]?.[what] ?? 0));
  for (const name of names.sort((a, b) => of(b, 'pssMb') - of(a, 'pssMb'))) {
    const columns = [
      of(name, 'pssMb').toFixed(0).padStart(14),
      of(name, 'anonymousMb').toFixed(0).padStart(11),
      of(name, 'rssMb').toFixed(0).padStart(10),
      String(of(name, 'cpuMs')).padStart(11),
    ];
    process.stdout.write(`  ${name.padEnd(20)}${columns.join('')}\n`);
  }
}
