import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { errorText } from '#lib/errors';

/** Folder in which groups of processes with a limit on their CPU can be made. */
export interface CgroupPlace {
  readonly folder: string;
  readonly version: 1 | 2;
}

/** Facts of the machine that decide: `/proc/self/mounts` and `/proc/self/cgroup`. */
export interface CgroupTexts {
  readonly mounts: string;
  readonly own: string;
  /** True when a file lists the controller `cpu`. */
  readonly hasCpu: (file: string) => boolean;
}

/**
 * Folders in which this process may try to make groups, the likeliest first; empty when the machine has no
 * control groups for CPU. In version 2 these are the groups above its own, from the root: its own has
 * processes, so that no group below it can have a limit, and the user can write only to the groups of a
 * session that was delegated to them.
 */
export function findCgroupPlaces(texts: CgroupTexts = readTexts()): readonly CgroupPlace[] {
  const mounts = texts.mounts.split('\n').map((line) => line.split(' '));
  const first = mounts.find(
    ([, , type, options = '']) => type === 'cgroup' && options.split(',').includes('cpu'),
  );
  if (first) return [{ folder: join(first[1] ?? '', ownPath(texts.own, 'cpu')), version: 1 }];
  const [, root] = mounts.find(([, , type]) => type === 'cgroup2') ?? [];
  if (root === undefined) return [];
  return foldersAbove(ownPath(texts.own, ''))
    .map((path) => join(root, path.slice(1)))
    .filter((folder) => texts.hasCpu(join(folder, 'cgroup.controllers')))
    .map((folder) => ({ folder, version: 2 }));
}

/** `4:cpu,cpuacct:/system.slice`, `0::/user.slice` */
function ownPath(own: string, controller: string): string {
  for (const line of own.split('\n')) {
    const [, controllers = '', path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers.split(',').includes(controller)) return path;
  }
  return '/';
}

/** `/a/b/c`: `/`, `/a`, `/a/b`. In a container its own group is `/`, which may or may not have processes. */
function foldersAbove(path: string): readonly string[] {
  const above = dirname(path);
  return above === path || path === '' ? ['/'] : [...foldersAbove(above), above].filter(isFirst);
}

function isFirst(one: string, at: number, all: readonly string[]): boolean {
  return all.indexOf(one) === at;
}

function readTexts(): CgroupTexts {
  return {
    mounts: read('/proc/self/mounts'),
    own: read('/proc/self/cgroup'),
    hasCpu: (file) => existsSync(file) && read(file).trim().split(/\s+/).includes('cpu'),
  };
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Microseconds in which a group has its share, as kubelets have it. */
const PERIOD_US = 100_000;
/** The kernel takes no less. */
const LEAST_US = 1_000;

/** Bounds the CPU of processes. */
export interface CpuLimits {
  /** Reason why more than the bound may be used; undefined where none may. */
  readonly problem: string | undefined;
  /**
   * Bounds a process that was just started, with all that it starts.
   * @returns to be called once all of them have ended
   */
  bind(pid: number, cores: number): () => void;
  /** Removes what was made for all of them; groups that still have a process stay. */
  close(): void;
}

/**
 * Limits CPU by control groups where this user may make them. Elsewhere processes with a limit get less of a
 * busy machine than those without, and all of an idle one.
 * @param name name of the groups' owner; leftovers of an earlier process of that name are removed
 */
export function openCpuLimits(name: string, places: readonly CgroupPlace[] = findCgroupPlaces()): CpuLimits {
  let problem = 'this machine has no control groups for CPU';
  for (const place of places) {
    const folder = join(place.folder, `agentplane-${name}`);
    try {
      openFolder(folder, place);
      return {
        problem: undefined,
        bind: (pid, cores) => bindByGroup(folder, place, pid, cores),
        close: () => removeGroup(folder),
      };
    } catch (error) {
      problem = `control groups for CPU cannot be made: ${errorText(error)}`;
    }
  }
  return { problem, bind: lower, close: () => undefined };
}

function openFolder(folder: string, place: CgroupPlace): void {
  if (!existsSync(folder)) mkdirSync(folder);
  try {
    if (place.version === 2) {
      writeFileSync(join(place.folder, 'cgroup.subtree_control'), '+cpu');
      writeFileSync(join(folder, 'cgroup.subtree_control'), '+cpu');
    }
    removeGroups(folder);
    // the first group shows if CPU limits and processes are accepted
    const probe = makeGroup(folder, place, 1);
    try {
      readFileSync(join(probe, 'cgroup.procs'));
    } finally {
      rmdirSync(probe);
    }
  } catch (error) {
    removeGroup(folder);
    throw error;
  }
}

function bindByGroup(folder: string, place: CgroupPlace, pid: number, cores: number): () => void {
  try {
    const group = makeGroup(folder, place, cores);
    moveAll(group, pid);
    return () => removeGroup(group);
  } catch {
    // it has ended already, or the groups were taken away: it runs on with less of a busy machine
    return lower(pid);
  }
}

/** A process starts in the group of the one that starts it: only those from before the move have to be moved. */
function moveAll(group: string, pid: number): void {
  writeFileSync(join(group, 'cgroup.procs'), String(pid));
  for (const child of childrenOf(pid))
    try {
      moveAll(group, child);
    } catch {
      // it has ended already
    }
}

/** Each is listed by the thread that started it. */
function childrenOf(pid: number): readonly number[] {
  const threads = `/proc/${pid}/task`;
  return tried(() => readdirSync(threads)).flatMap((thread) =>
    tried(() => numbersIn(readFileSync(join(threads, thread, 'children'), 'utf8').trim())),
  );
}

function numbersIn(text: string): readonly number[] {
  return text === '' ? [] : text.split(' ').map(Number);
}

/** Nothing of a process or a thread that has ended, and where the kernel does not list them. */
function tried<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read();
  } catch {
    return [];
  }
}

function makeGroup(folder: string, { version }: CgroupPlace, cores: number): string {
  const group = join(folder, randomUUID());
  const quota = Math.max(LEAST_US, Math.round(cores * PERIOD_US));
  mkdirSync(group);
  try {
    if (version === 2) writeFileSync(join(group, 'cpu.max'), `${quota} ${PERIOD_US}`);
    else {
      writeFileSync(join(group, 'cpu.cfs_period_us'), String(PERIOD_US));
      writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quota));
    }
  } catch (error) {
    removeGroup(group);
    throw error;
  }
  return group;
}

function removeGroups(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroup(join(folder, entry.name));
}

/** One that still has a process stays until the node is started again. */
function removeGroup(group: string): void {
  try {
    rmdirSync(group);
  } catch {
    return;
  }
}

function lower(pid: number): () => void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // it has ended already
  }
  return () => undefined;
}
