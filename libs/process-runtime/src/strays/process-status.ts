import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { NODE_MARKS } from '#lib/config';
import { statFields } from '#lib/process-identity';

/**
 * - `NODE_MARKER`: variable that every process of a node carries; its value is the node's folder of pods. Found again in
 *   `/proc`.
 * - `POD_MARKER`: the pod that a process belongs to.
 * - `ATTEMPT_MARKER`: the attempt at a container that a process belongs to: what it left running when it ended is found by
 *   it.
 */
export const [NODE_MARKER, POD_MARKER, ATTEMPT_MARKER] = NODE_MARKS;

/** Fields of `/proc/PID/status`, which every user can read for every process. */
export interface ProcessStatus {
  /** Real, effective, saved and of the file system. */
  readonly uids: readonly number[];
  readonly parent: number;
}

/** Undefined for a process that has ended. */
export function statusOf(pid: number): ProcessStatus | undefined {
  const text = textOf(`/proc/${pid}/status`);
  if (text === '') return undefined;
  const uids = /^Uid:\s+(.*)$/m.exec(text)?.[1]?.split(/\s+/).map(Number) ?? [];
  return { uids, parent: Number(/^PPid:\s+(\d+)$/m.exec(text)?.[1]) };
}

/** Fields of `/proc/PID/stat` about the origin of a process: no process can change when it began. */
export interface ProcessOrigin {
  /** Number of the process that made the session: a process that leaves it leaves its group too. */
  readonly session: number;
  /** Ticks since the machine was started. */
  readonly startedTicks: number;
}

/**
 * True when a process is of the session that another one began. The number of that one is reused once its
 * session has no process left: a process that has it now, and began at another time, began another session.
 */
export function isOfSession(
  { session }: ProcessOrigin,
  leader: { readonly pid: number; readonly startedTicks: number },
): boolean {
  if (session !== leader.pid) return false;
  const holder = originOf(leader.pid);
  return holder === undefined || holder.startedTicks === leader.startedTicks;
}

/** Undefined for a process that is gone; one that is over and waits for its parent still shows it. */
export function originOf(pid: number): ProcessOrigin | undefined {
  const text = textOf(`/proc/${pid}/stat`);
  const fields = statFields(text);
  return text === '' ? undefined : { session: Number(fields[3]), startedTicks: Number(fields[19]) };
}

/**
 * True when a process works in a folder or below it, or its program does. Only the links are read, which
 * takes no lock of the process: their targets may be in a file system that does not answer.
 */
export function isAtHome(pid: number, folder: string): boolean {
  return placesOf(pid).some((place) => place === folder || place.startsWith(`${folder}/`));
}

/**
 * Name of the entry of a folder in which a process works, or which contains its program; undefined for one
 * that is elsewhere.
 */
export function homeOf(pid: number, folder: string): string | undefined {
  const place = placesOf(pid).find((one) => one.startsWith(`${folder}/`));
  return place?.slice(folder.length + 1).split('/')[0];
}

function placesOf(pid: number): readonly string[] {
  return ['cwd', 'exe'].map((name) => linkOf(`/proc/${pid}/${name}`));
}

/** All of this machine, or of this container. */
export function processNumbers(): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0);
}

/** Empty for a file of a process that has ended. */
export function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** Numbers of the users that the machine has by name. */
export function usersOfPeople(): ReadonlySet<number> {
  return new Set(
    textOf('/etc/passwd')
      .split('\n')
      .map((line) => Number(line.split(':')[2])),
  );
}
