import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Clock } from '#lib/time';

/**
 * Fields of a text of `/proc/PID/stat` after the name of the program, which may itself hold blanks and parentheses: state,
 * parent, group, session, …
 */
export function statFields(text: string): readonly string[] {
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/**
 * A process that cannot be mistaken for another: pids are used again, a pid with its start time is not.
 * `startedAt` is an opaque word, only good for comparing (Linux: boot and ticks; elsewhere what `ps` prints).
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startedAt: string;
}

/** `sysconf(_SC_CLK_TCK)`: 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** The process of this pid; `undefined` when it does not exist, or is a zombie that waits for its parent. */
export function findProcess(pid: number): ProcessIdentity | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  const startedAt = process.platform === 'linux' ? linuxStart(pid) : psStart(pid);
  return startedAt === undefined ? undefined : { pid, startedAt };
}

/** This process. */
export function ownIdentity(): ProcessIdentity {
  const own = findProcess(process.pid);
  if (!own) throw new Error(`cannot read the start time of process ${process.pid}`);
  return own;
}

/** True when exactly this process still runs. */
export function isRunning(identity: ProcessIdentity): boolean {
  return findProcess(identity.pid)?.startedAt === identity.startedAt;
}

/** Wall-clock start of a process, exact to about a second; `undefined` when it does not run. */
export function findStartTime(pid: number): Date | undefined {
  if (process.platform !== 'linux') {
    const text = psStart(pid);
    return text === undefined ? undefined : new Date(text);
  }
  const fields = fieldsOf(pid);
  if (!fields) return undefined;
  const boot = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'utf8'));
  return new Date((Number(boot?.[1]) + Number(fields[19]) / TICKS_PER_SECOND) * 1000);
}

/** Path or name of the program that a process runs; `undefined` when unknown. */
export function findProgram(pid: number): string | undefined {
  try {
    if (process.platform === 'linux')
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] || undefined;
    return execFileSync('ps', ['-o', 'comm=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Fields of a process that is no zombie. */
function fieldsOf(pid: number): readonly string[] | undefined {
  try {
    const fields = statFields(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields;
  } catch {
    return undefined;
  }
}

let bootId: string | undefined;

function linuxStart(pid: number): string | undefined {
  const fields = fieldsOf(pid);
  if (!fields) return undefined;
  bootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return `${bootId}/${fields[19]}`;
}

function psStart(pid: number): string | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { LC_ALL: 'C', PATH: '/bin:/usr/bin' },
    }).trim();
    const parts = /^(\S+)\s+(.+)$/.exec(line);
    return !parts || parts[1]?.startsWith('Z') ? undefined : parts[2];
  } catch {
    return undefined; // ps exits with 1 for an unknown pid
  }
}

export interface EndOptions {
  readonly clock: Clock;
  /** Milliseconds between the polite signal and SIGKILL; 0 kills at once. */
  readonly graceMs: number;
  /** Signal the whole process group that the process leads. */
  readonly group?: boolean;
  readonly signal?: NodeJS.Signals;
}

/**
 * Ends a process (or the group it leads) and waits until it has ended. Does nothing when another process has its pid.
 * @throws Error when it is still there five seconds after SIGKILL
 */
export async function endProcess(identity: ProcessIdentity, options: EndOptions): Promise<void> {
  const { clock, graceMs, group = false, signal = 'SIGTERM' } = options;
  if (graceMs > 0 && isRunning(identity)) {
    sendSignal(identity.pid, signal, group);
    if (await hasEnded(identity, clock, graceMs)) {
      if (group) sendSignal(identity.pid, 'SIGKILL', group); // kills the rest of the group
      return;
    }
  }
  if (!isRunning(identity)) return;
  sendSignal(identity.pid, 'SIGKILL', group);
  if (!(await hasEnded(identity, clock, 5_000)))
    throw new Error(`process ${identity.pid} still exists after SIGKILL`);
}

/** Sends a signal; a process or group that has ended is no error. */
export function sendSignal(pid: number, signal: NodeJS.Signals, group: boolean): void {
  try {
    process.kill(group ? -pid : pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function hasEnded(identity: ProcessIdentity, clock: Clock, withinMs: number): Promise<boolean> {
  const deadline = clock.monotonicMs() + withinMs;
  for (let pauseMs = 5; clock.monotonicMs() < deadline; pauseMs = Math.min(pauseMs * 1.5, 100)) {
    if (!isRunning(identity)) return true;
    await clock.sleep(pauseMs);
  }
  return !isRunning(identity);
}

/**
 * Does something synchronous under another umask: the platform's own keeps its files to itself, and a few must be read by
 * other users. A process that is started meanwhile keeps it.
 */
export function withUmask<T>(mask: number, action: () => T): T {
  const before = process.umask(mask);
  try {
    return action();
  } finally {
    process.umask(before);
  }
}
