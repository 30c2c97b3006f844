// Processes with their wall time, CPU time and largest resident memory.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

function statOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** CPU of a process and of its children that have ended, seconds. */
export function cpuOf(pid) {
  return (
    statOf(pid)
      .slice(11, 15)
      .reduce((sum, ticks) => sum + Number(ticks), 0) / 100
  );
}

/** The process and all that it started. */
function treeOf(pid) {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  );
  return [pid, ...children.flatMap((child) => treeOf(child))];
}

/**
 * Runs a process to its end.
 * @returns seconds, cpuS of it and what it started (all that had ended, and what was seen of the rest), and the largest
 *   memory of one of them
 */
export function measure(command, args, options = {}) {
  return new Promise((done, failed) => {
    const began = performance.now();
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'], ...options });
    const seen = { peakMb: 0 };
    const cpu = new Map();
    const look = setInterval(() => {
      try {
        for (const pid of treeOf(child.pid)) {
          const status = readFileSync(`/proc/${pid}/status`, 'utf8');
          seen.peakMb = Math.max(seen.peakMb, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024);
          const fields = statOf(pid);
          cpu.set(pid, (Number(fields[11]) + Number(fields[12])) / 100);
        }
      } catch {
        // one of them has just ended
      }
    }, 50);
    child.once('exit', (code) => {
      clearInterval(look);
      if (code !== 0) return failed(new Error(`${command} ended with ${code}`));
      const cpuS = [...cpu.values()].reduce((sum, seconds) => sum + seconds, 0);
      done({ seconds: (performance.now() - began) / 1000, cpuS, ...seen });
    });
  });
}
