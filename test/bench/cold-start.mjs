// Cold start (installed, built, empty data folder) to "Ready", and the memory of the idle platform by process.
// npm run bench -- cold-start [FOLDER…]: further checkouts, built, are measured in turns with this one.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const repository = resolve(import.meta.dirname, '..', '..');
const checkouts = [repository, ...process.argv.slice(2).map((folder) => resolve(folder))];
const ROUNDS = 7;
const IDLE_MS = 20_000;

/** Start of the command to its "Ready" line, in milliseconds, and the running platform. */
async function start(checkout, dataFolder) {
  const began = performance.now();
  const child = spawn(
    process.execPath,
    ['bin/agentplane.js', 'up', '--data', dataFolder, '--listen', '127.0.0.1:0'],
    { cwd: checkout, stdio: ['ignore', 'pipe', 'ignore'], detached: true },
  );
  let text = '';
  await new Promise((ready, failed) => {
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      if (/^Ready/m.test(text)) ready();
    });
    child.once('exit', (code) => failed(new Error(`ended with ${code}: ${text}`)));
  });
  const tookMs = performance.now() - began;
  return {
    tookMs,
    pid: child.pid,
    stop: () =>
      new Promise((ended) => {
        child.removeAllListeners('exit');
        child.once('exit', ended);
        child.kill('SIGINT');
      }),
  };
}

const TICK_MS = 10;

/**
 * Memory that is the process's own, in MB: shared pages of Postgres' buffers and of the Node binary count for their share.
 * Programs of others that run the same binary make that share smaller, so the part that nobody shares stands beside it.
 * CPU time is that of the process and of its children that ended.
 */
function costOf(pid) {
  try {
    const memory = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    const mb = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(memory)?.[1] ?? 0) / 1024;
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const ticks = fields[11] + fields[12] + fields[13] + fields[14];
    return { rssMb: mb('Rss'), pssMb: mb('Pss'), anonymousMb: mb('Pss_Anon'), cpuMs: ticks * TICK_MS };
  } catch {
    return { rssMb: 0, pssMb: 0, anonymousMb: 0, cpuMs: 0 };
  }
}

function processes(dataFolder, root) {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8', maxBuffer: 16 << 20 })
    .split('\n')
    .flatMap((line) => {
      const found = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line);
      return found ? [{ pid: +found[1], parent: +found[2], args: found[3] }] : [];
    });
  const below = new Set([root]);
  for (let grew = true; grew;) {
    grew = false;
    for (const row of rows)
      if (below.has(row.parent) && !below.has(row.pid)) {
        below.add(row.pid);
        grew = true;
      }
  }
  // Postgres may have been detached on purpose, so that it survives its starter
  const postmaster = rows.find(
    (row) => /bin\/postgres .*-D/.test(row.args) && row.args.includes(dataFolder.split('/').at(-1)),
  );
  return rows.filter(
    (row) =>
      below.has(row.pid) || (postmaster && (row.pid === postmaster.pid || row.parent === postmaster.pid)),
  );
}

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
