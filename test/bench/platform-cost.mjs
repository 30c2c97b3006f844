// What a platform costs, for the benchmarks that start one.
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Start of the command to its "Ready" line, in milliseconds, and the running platform. */
export async function start(checkout, dataFolder, environment = {}) {
  const began = performance.now();
  const child = spawn(
    process.execPath,
    ['bin/agentplane.js', 'up', '--data', dataFolder, '--listen', '127.0.0.1:0'],
    {
      cwd: checkout,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    },
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
        if (child.exitCode !== null || child.signalCode !== null) return ended();
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
export function costOf(pid) {
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

/** Every process of a platform, its Postgres included. */
export function processes(dataFolder, root) {
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
