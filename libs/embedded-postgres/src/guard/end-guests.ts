import { readFileSync } from 'node:fs';
import { sendSignal } from '#lib/process-identity';

/** What a backend's process calls itself: `postgres: ROLE DATABASE ADDRESS(PORT) ACTIVITY`. */
const BACKEND = /^postgres: (\S+) .*\(\d+\) /;

/**
 * Ends the backends of guests from outside, by the titles of their processes: the way in when the server has no room for
 * one more session. Of Linux; elsewhere it ends none.
 * @param hosts names of the roles that stay
 * @returns how many were ended
 */
export function endGuests(postmaster: number, hosts: readonly string[]): number {
  const guests = childrenOf(postmaster).filter((pid) => {
    const role = BACKEND.exec(titleOf(pid))?.[1];
    return role !== undefined && !hosts.includes(role);
  });
  for (const pid of guests) sendSignal(pid, 'SIGTERM', false);
  return guests.length;
}

function childrenOf(pid: number): readonly number[] {
  return readText(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}

function titleOf(pid: number): string {
  return readText(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim() + ' ';
}

/** Empty where the process ended, or the system has no such file. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}
