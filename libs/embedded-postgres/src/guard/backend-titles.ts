import { readFileSync } from 'node:fs';

/** One process of the server. */
export interface ServerProcess {
  readonly pid: number;
  /** `postgres: ROLE DATABASE ADDRESS(PORT) ACTIVITY` for a session; the command of the server while it has no name. */
  readonly title: string;
  /** It has not read yet who wants what. */
  readonly isNew: boolean;
}

/** The processes of a server, as Linux shows them, which needs no session. Empty on other systems. */
export function backendsOf(postmaster: number): readonly ServerProcess[] {
  const pids = readText(`/proc/${postmaster}/task/${postmaster}/children`).split(' ').filter(Boolean);
  const command = titleOf(postmaster);
  return pids.map((pid) => {
    const title = titleOf(Number(pid));
    return { pid: Number(pid), title, isNew: title === command };
  });
}

function titleOf(pid: number): string {
  return readText(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
}

/** Empty when the process ended, or the system has no such file. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}
