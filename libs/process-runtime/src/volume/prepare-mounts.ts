import { lstatSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import type { KubeClient } from '#lib/kube';
import type { Pod, PodContainer } from '#lib/resources';
import { isTokenVolume } from '../pod-fields/pod-fields.js';
import type { PodFiles } from '../pod-files/pod-files.js';
import { ContainerConfigError } from '../pod-values/pod-field.js';
import type { Mounts } from '../user/launch.js';
import { lookAs, type PartBudget } from '../user/look-as.js';
import type { PodUser } from '../user/pod-user.js';
import { requireShort, volumeFiles } from './volume-files.js';
import type { Volume } from './volume.js';

/**
 * Paths that must be bound again because a volume covers them: entries of covered folders that contain
 * something that the program needs. Only writable volumes can take them.
 * @param needed absolute paths; those that do not exist are left out
 */
export function keptPlaces(binds: readonly Bind[], needed: readonly string[]): readonly string[] {
  const targets = binds.filter(({ isReadOnly }) => !isReadOnly).map(({ target }) => `${target}/`);
  const covered = targets.flatMap((target) =>
    needed
      .filter((path) => path.startsWith(target))
      .map((path) => `${target}${path.slice(target.length).split('/')[0] ?? ''}`),
  );
  const places = new Set(binds.map(({ target }) => target));
  return [...new Set(covered)].filter((path) => !places.has(path) && placeExists(path));
}

function placeExists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

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

export interface MountOptions {
  readonly client: Pick<KubeClient, 'find'>;
  readonly files: PodFiles;
  readonly user: PodUser;
  /**
   * Paths of the machine that the program needs, whatever is mounted above them: they may be below `/tmp` or
   * `/home`.
   */
  readonly needed: readonly string[];
  /** Replaces `$(NAME)` by variables of the container. */
  readonly expand: (text: string) => string;
  /** Runs a step that blocks the node, once the queue reaches the pod's user. */
  readonly inTurn: <T>(step: () => T) => Promise<T>;
}

/** Each place is looked for on the machine, part by part. */
const MAX_MOUNTS = 256;
const PATH_BOUNDS = { letters: 4_096, parts: 256 };
/**
 * Maximum path parts of all mounts of a container together, with the links among them: the node has one
 * thread for all pods.
 */
const MAX_PARTS = 4_096;

type VolumeMount = NonNullable<PodContainer['volumeMounts']>[number];

/** A mount, and the folder of this machine that is its volume. */
interface MadeMount {
  readonly mount: VolumeMount;
  readonly folder: string;
  /** True when its volume begins empty. */
  readonly isEmpty: boolean;
  /** True when its volume is to be memory. */
  readonly isMemory: boolean;
}

/**
 * Makes the volumes that a container mounts, as their objects are now, and says how they get to their places; undefined
 * for a container without any.
 * @throws ContainerConfigError when an object is missing, or a path cannot be
 */
export async function prepareMounts(
  pod: Pod,
  container: PodContainer,
  options: MountOptions,
): Promise<Mounts | undefined> {
  const { client, files, inTurn } = options;
  const volumes = new Map((pod.spec.volumes as readonly Volume[] | undefined)?.map((one) => [one.name, one]));
  const all: MadeMount[] = [];
  const mounts = container.volumeMounts ?? [];
  if (mounts.length > MAX_MOUNTS)
    throw new ContainerConfigError(`a container has ${mounts.length} mounts; the limit is ${MAX_MOUNTS}`);
  const made = new Map<string, string>();
  for (const mount of mounts) {
    const volume = volumes.get(mount.name);
    if (!volume) throw new ContainerConfigError(`volumeMount ${mount.name} names no volume of the pod`);
    // API servers of clusters add it to every pod; the kubeconfig replaces it
    if (volume.projected && isTokenVolume(volume.projected)) continue;
    const found = made.has(volume.name) ? undefined : await volumeFiles(client, pod, volume);
    const folder =
      made.get(volume.name) ??
      (found ? files.writeVolume(volume.name, found) : files.emptyVolume(volume.name));
    made.set(volume.name, folder);
    const { emptyDir } = volume;
    all.push({ mount, folder, isEmpty: emptyDir !== undefined, isMemory: emptyDir?.medium === 'Memory' });
  }
  if (all.length === 0) return undefined;
  // 12 ms for the most that a container may have, and a pod may have 256 of them
  return await inTurn(() => {
    const budget: PartBudget = { left: MAX_PARTS };
    const binds = all.map((one) => bindOf(one, options, budget));
    const kept = keptPlaces(binds, [files.folder, ...options.needed]).map((path) => bindOfKept(path));
    return { stage: files.stageFolder, steps: mountSteps([...binds, ...kept], isFolder, exists) };
  });
}

/** Folder in which programs expect memory, and containers have 64 MB. */
const SHARED_MEMORY = '/dev/shm';

function bindOfKept(path: string): Bind {
  return { source: path, target: path, isReadOnly: false, isSourceMade: false };
}

function bindOf(
  { mount, folder, isEmpty, isMemory }: MadeMount,
  { user, expand }: MountOptions,
  budget: PartBudget,
): Bind {
  const part = partOf(mount, expand);
  const target = targetOf(mount.mountPath, user, budget);
  return {
    source: part === '' ? folder : join(folder, part),
    target,
    isReadOnly: !isEmpty || mount.readOnly === true,
    isSourceMade: isEmpty && part !== '',
    isMemory: isMemory && part === '' && target === SHARED_MEMORY,
  };
}

function partOf({ subPath, subPathExpr }: VolumeMount, expand: (text: string) => string): string {
  const part = subPathExpr === undefined ? (subPath ?? '') : expand(subPathExpr);
  requireShort('subPath', part, PATH_BOUNDS);
  if (part.startsWith('/') || part.split('/').includes('..'))
    throw new ContainerConfigError(`subPath ${JSON.stringify(part)} must be relative and without ".."`);
  return part;
}

/** Path whose existing part has no links: in the root of a container they would lead to the machine's. */
function targetOf(mountPath: string, user: PodUser, budget: PartBudget): string {
  const target = resolvedTarget(mountPath, user, budget);
  // the folders of the path count too: those that do not exist are made, each after one check
  budget.left -= target.split('/').length;
  if (budget.left >= 0) return target;
  throw tooManyParts();
}

function tooManyParts(): ContainerConfigError {
  return new ContainerConfigError(
    `the mounts of a container lead through more than ${MAX_PARTS} folders and links; use fewer, or shorter paths`,
  );
}

function resolvedTarget(mountPath: string, user: PodUser, budget: PartBudget): string {
  requireShort('mountPath', mountPath, PATH_BOUNDS);
  const path = normalize(`/${mountPath}`).replace(/(.)\/$/, '$1');
  if (path === '/') throw new ContainerConfigError('mountPath / is not supported by the process runtime');
  if (user.isOwn) return seenTarget(path, user, budget);
  const rest: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(realpathSync(at), ...rest);
    } catch {
      rest.unshift(at.slice(at.lastIndexOf('/') + 1));
    }
  }
}

function seenTarget(path: string, user: PodUser & { readonly isOwn: true }, budget: PartBudget): string {
  const sight = lookAs(path, user, budget);
  if (budget.left < 0) throw tooManyParts();
  if (sight.kind !== 'closed') return sight.path;
  throw new ContainerConfigError(
    `mountPath ${JSON.stringify(path)} leads into ${sight.path}, which is closed to the user of the pod; choose another path`,
  );
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
