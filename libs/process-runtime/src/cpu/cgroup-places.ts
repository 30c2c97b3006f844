import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

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
