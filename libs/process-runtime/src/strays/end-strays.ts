import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '#lib/errors';
import {
  type EndOptions,
  endProcess,
  findProcess,
  isRunning,
  type ProcessIdentity,
} from '#lib/process-identity';
import type { Pod } from '#lib/resources';
import type { Logger } from '#lib/telemetry';
import type { Clock } from '#lib/time';
import { Pace } from '../pace.js';
import { readJson } from '../pod-files/pod-files.js';
import { BoundedReader, FEW_STUCK } from './bounded-reader.js';
import type { variableOf } from './environment-variable.js';
import { homeOf, isAtHome, NODE_MARKER, processNumbers, statusOf, usersOfPeople } from './process-status.js';

export interface MarkedOptions {
  /** The user that they run as; undefined where pods have no users of their own. */
  readonly uid?: number | undefined;
  readonly clock: Clock;
  /** Reads a variable of a process. */
  readonly read?: typeof variableOf;
  /** Known without its variables: one that is looked for, or one that is not. They are not read then. */
  readonly isCertain?: (pid: number) => boolean | undefined;
  /** Asked for a process that keeps its variables from its readers: whether it counts as one that is looked for. */
  readonly isLikely?: (pid: number) => boolean;
}

export interface MarkedProcesses {
  readonly marked: readonly ProcessIdentity[];
  /** Pids of processes that keep their variables from their readers, so that their owner is unknown. */
  readonly unclear: readonly number[];
}

/**
 * Processes that were started with a variable, and all their descendants: children inherit it, also those
 * that leave the process group. Variables of other users are not read: each process may have megabytes of
 * them. Empty where there is no `/proc`.
 */
export async function markedProcesses(
  variable: string,
  value: string,
  { uid, clock, read, isCertain, isLikely }: MarkedOptions,
): Promise<MarkedProcesses> {
  const marked = new Map<number, ProcessIdentity>();
  const unclear: number[] = [];
  if (process.platform !== 'linux') return { marked: [], unclear };
  const pace = new Pace(clock);
  const reader = new BoundedReader({ clock, pace, read, bounds: FEW_STUCK });
  for (const pid of processNumbers()) {
    await pace.step();
    if (pid === process.pid) continue;
    const status = statusOf(pid);
    if (!status || (uid !== undefined && !status.uids.includes(uid))) continue;
    let isMarked = isCertain?.(pid);
    if (isMarked === undefined) {
      const found = await reader.variableOf(pid, status.uids[0], variable);
      isMarked = found === value;
      if (typeof found === 'symbol') isMarked = marked.has(status.parent) || isLikely?.(pid) === true;
      if (typeof found === 'symbol' && !isMarked && findProcess(pid)) unclear.push(pid);
    }
    const identity = isMarked ? findProcess(pid) : undefined;
    if (identity) marked.set(pid, identity);
  }
  return { marked: [...marked.values()], unclear };
}

/** Written right after a process was started. */
export interface ProcessRecord extends ProcessIdentity {
  readonly container: string;
  readonly restartCount: number;
}

/** A process of an earlier node. */
export interface Stray extends ProcessIdentity {
  /** Undefined where nothing shows which pod it belongs to. */
  readonly podUid: string | undefined;
}

export interface EndingOfStrays {
  readonly clock: Clock;
  readonly log: Logger;
  /** Ends one process, and rejects when it still runs afterwards. Default: by signals. */
  readonly end?: typeof endProcess | undefined;
}

/** They have seen their channel close already, so they only need to be waited for. */
const GRACE_MS = 2_000;
/** Maximum number of names in one line of the log. */
const MAX_NAMED = 20;

/**
 * Ends all processes that an earlier node, killed without a chance to stop, left running: first those in its
 * records, then (where `/proc` can be read) everything that carries its marker, because a record may have
 * come too late, or, where its variables cannot be read, works in a folder of its pods. Nothing may be
 * started before this is done: no second copy of a workload ever runs.
 * @returns processes that did not end: one that waits for a file system of its own ends once that answers.
 * Their pods, and no
 * others, must wait for them
 */
export async function endStrays(
  podsFolder: string,
  { clock, log, end = endProcess }: EndingOfStrays,
): Promise<readonly Stray[]> {
  const endAll = async (strays: readonly Stray[], options: EndOptions): Promise<readonly Stray[]> => {
    const results = await Promise.allSettled(strays.map((stray) => end(stray, options)));
    return strays.filter((stray, at) => {
      const result = results[at];
      if (result?.status !== 'rejected') return false;
      const { pid, podUid } = stray;
      log.error(
        { pid, podUid, problem: errorText(result.reason) },
        'ending a process of an earlier node failed; its pod is not started before it has ended',
      );
      return true;
    });
  };

  const recorded = recordedProcesses(podsFolder).filter(isRunning);
  if (recorded.length > 0)
    log.warn({ pids: recorded.map(({ pid }) => pid) }, 'ending processes that outlived an earlier node');
  const remaining = await endAll(recorded, { clock, graceMs: GRACE_MS, group: true });

  const people = usersOfPeople();
  const { marked, unclear } = await markedProcesses(NODE_MARKER, podsFolder, {
    clock,
    isCertain: (pid) => (remaining.some((stray) => stray.pid === pid) ? false : undefined),
    isLikely: (pid) => isAtHome(pid, podsFolder) && !isForeign(pid, people),
  });
  if (unclear.length > 0)
    log.warn(
      { processes: unclear.length, pids: unclear.slice(0, MAX_NAMED) },
      'reading the variables of processes failed; end those that an earlier node has left',
    );
  if (marked.length > 0)
    log.warn({ pids: marked.map(({ pid }) => pid) }, 'ending unrecorded processes of an earlier node');
  const strays = marked.map((identity) => ({ ...identity, podUid: homeOf(identity.pid, podsFolder) }));
  return [...remaining, ...(await endAll(strays, { clock, graceMs: 0 }))];
}

/** Leftover processes of a pod that have not ended by now. */
export function runningOf(strays: readonly Stray[], { metadata }: Pod): readonly Stray[] {
  return strays.filter((stray) => stray.podUid === metadata.uid && isRunning(stray));
}

/** Text for the event of their pod. */
export function strayText(strays: readonly Stray[]): string {
  const pids = strays.slice(0, MAX_NAMED).map(({ pid }) => pid);
  return (
    `processes that an earlier node left of this pod did not end when they were killed (${pids.join(', ')}): ` +
    'its containers start once they have ended; end what they wait for, such as the program of a file system of their own'
  );
}

/**
 * True for a process that a person runs in a folder of pods. The user of this node is also that of its pods,
 * where these have none of their own.
 */
function isForeign(pid: number, people: ReadonlySet<number>): boolean {
  const uid = statusOf(pid)?.uids[0];
  return uid !== undefined && uid !== process.getuid?.() && people.has(uid);
}

function recordedProcesses(podsFolder: string): Stray[] {
  if (!existsSync(podsFolder)) return [];
  // a file in this folder belongs to no pod
  const pods = readdirSync(podsFolder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return pods.flatMap(({ name: podUid }) => {
    const folder = join(podsFolder, podUid);
    return readdirSync(folder)
      .filter((name) => name.endsWith('.process.json'))
      .flatMap((name) => readJson<ProcessRecord>(join(folder, name)) ?? [])
      .map(({ pid, startedAt }) => ({ pid, startedAt, podUid }));
  });
}
