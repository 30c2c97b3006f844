// Cold start (installed, built, empty data folder) to "Ready", and the memory of the idle platform by process.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const repository = resolve(import.meta.dirname, '..', '..');
const ROUNDS = 3;
const IDLE_MS = 20_000;

/** Start of the command to its "Ready" line, in milliseconds, and the running platform. */
async function start(dataFolder) {
  const began = performance.now();
  const child = spawn(
    process.execPath,
    ['bin/agentplane.js', 'up', '--data', dataFolder, '--listen', '127.0.0.1:0'],
    { cwd: repository, stdio: ['ignore', 'pipe', 'ignore'], detached: true },
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

/** Memory that is the process's own: shared pages of Postgres' buffers and of the Node binary count once, for their share. */
function proportionalMb(pid) {
  try {
    const text = execFileSync('cat', [`/proc/${pid}/smaps_rollup`], { encoding: 'utf8' });
    return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

function processes(dataFolder, root) {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid=,rss=,args='], { encoding: 'utf8', maxBuffer: 16 << 20 })
    .split('\n')
    .flatMap((line) => {
      const found = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(.*)$/.exec(line);
      return found ? [{ pid: +found[1], parent: +found[2], rssMb: +found[3] / 1024, args: found[4] }] : [];
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
  if (app) return app;
  if (/postgres/.test(args)) return 'postgres (all)';
  if (/agentplane\.js/.test(args)) return 'starter';
  return args.slice(0, 40);
}

const times = [];
for (let round = 1; round <= ROUNDS; round++) {
  const dataFolder = mkdtempSync(join(tmpdir(), 'agentplane-bench-'));
  const platform = await start(dataFolder);
  times.push(platform.tookMs);
  if (round === ROUNDS) {
    await new Promise((resume) => setTimeout(resume, IDLE_MS));
    const sums = new Map();
    for (const { pid, rssMb, args } of processes(dataFolder, platform.pid)) {
      const name = nameOf(args);
      const sum = sums.get(name) ?? { rssMb: 0, pssMb: 0 };
      sums.set(name, { rssMb: sum.rssMb + rssMb, pssMb: sum.pssMb + proportionalMb(pid) });
    }
    process.stdout.write(
      `cold start to Ready: ${times.map((ms) => (ms / 1000).toFixed(2)).join(' s, ')} s\n`,
    );
    process.stdout.write(`idle memory after ${IDLE_MS / 1000} s, MB:        resident  proportional\n`);
    let rss = 0;
    let pss = 0;
    for (const [name, sum] of [...sums].sort((a, b) => b[1].pssMb - a[1].pssMb)) {
      rss += sum.rssMb;
      pss += sum.pssMb;
      process.stdout.write(
        `  ${name.padEnd(28)}${sum.rssMb.toFixed(0).padStart(10)}${sum.pssMb.toFixed(0).padStart(14)}\n`,
      );
    }
    process.stdout.write(
      `  ${'all'.padEnd(28)}${rss.toFixed(0).padStart(10)}${pss.toFixed(0).padStart(14)}\n`,
    );
  }
  await platform.stop();
  rmSync(dataFolder, { recursive: true, force: true });
}
