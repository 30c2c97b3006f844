import { dirname } from 'node:path';

/** One place of a container where a volume, or a part of it, appears. */
export interface Bind {
  /** A folder or file of this machine. */
  readonly source: string;
  /** Absolute, without links in what exists of it. */
  readonly target: string;
  readonly isReadOnly: boolean;
  /** Made where it is missing: a part of a volume that begins empty. */
  readonly isSourceMade: boolean;
  /** Memory of the container instead of the source, which ends with it. */
  readonly isMemory?: boolean;
}

/**
 * The words for `MOUNT_SCRIPT`, three for each step. The root of the container is a folder of its own into
 * which everything of the machine is bound. A folder that gets a new entry becomes such a folder too
 * (`mirror`), since nothing may be made on the machine itself; existing entries are covered.
 * @param isFolder returns true when the machine has a folder of this path
 */
export function mountSteps(
  binds: readonly Bind[],
  isFolder: (path: string) => boolean,
  exists: (path: string) => boolean,
): readonly string[] {
  const steps: string[] = ['mirror', '/', '-'];
  const own = new Set(['/']);
  const targets: string[] = [];
  const isInVolume = (path: string): boolean => targets.some((target) => path.startsWith(`${target}/`));

  const makeFolder = (path: string): void => {
    if (own.has(path) || (!isInVolume(path) && isFolder(path))) return;
    const parent = dirname(path);
    if (!isInVolume(path)) openFolder(parent);
    steps.push('folder', path, '-');
    own.add(path);
  };
  const openFolder = (path: string): void => {
    if (own.has(path) || targets.includes(path) || isInVolume(path)) return;
    if (!isFolder(path)) return makeFolder(path);
    steps.push('mirror', path, '-');
    own.add(path);
  };

  // folders before what is in them
  const sorted = binds.toSorted((a, b) => depth(a.target) - depth(b.target));
  for (const { source, target, isReadOnly, isSourceMade, isMemory } of sorted) {
    if (!isInVolume(target) && !exists(target)) openFolder(dirname(target));
    if (isMemory) steps.push('memory', target, '-');
    else steps.push(isSourceMade ? 'bind-made' : 'bind', source, target);
    if (isReadOnly) steps.push('read-only', target, '-');
    targets.push(target);
  }
  return steps;
}

function depth(path: string): number {
  return path.split('/').length;
}
