import { lstatSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import type { PodUser } from './pod-user.js';

/**
 * Result of a user's look-up of a path. The existing part of `path` has no links; for a closed one it is the
 * part that is closed.
 */
export interface Sight {
  readonly kind: 'found' | 'missing' | 'closed';
  readonly path: string;
}

type OwnUser = Extract<PodUser, { readonly isOwn: true }>;

/** Remaining number of path parts that one start of a container may look up. */
export interface PartBudget {
  left: number;
}

const MAX_LINKS = 40;
/** Maximum length of a path; the kernel takes no longer one either. */
const MAX_LETTERS = 4_096;
/** A path of no more letters may have forty links, each with some thousand parts: `x/../x/../…`. */
const MAX_PARTS = 1_024;

/**
 * Looks up a path with the rights of a user of pods, from the root down: the node may be root, and a pod must
 * not learn what exists below a folder that is closed to its user. The same holds for links of other
 * processes, in `/proc`. A folder that is mounted on access (autofs) is not looked up: that may block
 * indefinitely.
 * @param budget budget of several looks together, which block the node meanwhile; paths beyond it are closed
 */
export function lookAs(absolute: string, user: OwnUser, budget: PartBudget = { left: MAX_PARTS }): Sight {
  if (absolute.length > MAX_LETTERS) return { kind: 'missing', path: absolute };
  const rest = partsOf(absolute);
  const unseen = new Set(['/proc', ...automounts()]);
  let folder = '/';
  let found: Stats | undefined = lstatSync('/');
  for (let links = 0; ;) {
    const name = rest.shift();
    if (name === undefined) return { kind: 'found', path: folder };
    if (--budget.left < 0 || !mayPass(found, user)) return { kind: 'closed', path: folder };
    const path = name === '..' ? dirname(folder) : join(folder, name);
    if (unseen.has(path)) return { kind: 'closed', path };
    found = statOf(path);
    if (!found) return missing(path, rest);
    if (!found.isSymbolicLink()) {
      folder = path;
      continue;
    }
    const goal = readlinkSync(path);
    if (++links > MAX_LINKS) return { kind: 'closed', path };
    rest.unshift(...partsOf(goal));
    if (goal.startsWith('/')) folder = '/';
    found = lstatSync(folder);
  }
}

/** Undefined too for what no path can be: below a file, too long, with a zero. */
function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

/** A step back from what is missing could lead anywhere. */
function missing(path: string, rest: readonly string[]): Sight {
  return rest.includes('..') ? { kind: 'closed', path } : { kind: 'missing', path: join(path, ...rest) };
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

/**
 * True when the user may pass. A file that is no folder is passed: the path below it does not exist, and the
 * next look-up reports that.
 */
function mayPass(found: Stats, { uid, gid }: OwnUser): boolean {
  if (!found.isDirectory()) return true;
  const bit = found.uid === uid ? 0o100 : found.gid === gid ? 0o010 : 0o001;
  return (found.mode & bit) !== 0;
}

function automounts(): readonly string[] {
  let text: string;
  try {
    text = readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return []; // no Linux
  }
  const lines = text.split('\n').filter((line) => line.includes(' - autofs '));
  return lines.map((line) => line.split(' ')[4] ?? '');
}
