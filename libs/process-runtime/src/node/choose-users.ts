import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Users } from '../context/node-context.js';
import { MACHINE_FOLDER, nodeUser, ReservedUsers, type UserRange } from '../user/pod-user.js';
import { PodUsers } from './pod-users.js';

/**
 * The part of the path that keeps out a user who owns nothing on the way, the deepest first; undefined when such a user may
 * read the file or folder.
 */
function closedPart(path: string): string | undefined {
  const found = statSync(path);
  const needed = found.isDirectory() ? 0o001 : 0o004;
  if ((found.mode & needed) === 0) return path;
  const above = dirname(path);
  return above === path ? undefined : closedPart(above);
}

function asNode(problem?: string): Users {
  const endProcesses: Users['endProcesses'] = () => Promise.resolve({ ended: 0, unasked: [] });
  return { areOwn: false, of: nodeUser, endProcesses, problem };
}

export interface UserOptions {
  /** Used up in this order, those that the machine has. None: pods run as the node's own user. */
  readonly ranges: readonly UserRange[];
  /** The programs of this installation, which every pod must be able to read. */
  readonly programs: readonly string[];
  /** Folder in which installations of this machine reserve numbers. Default `/var/lib/agentplane/users`. */
  readonly reservedIn?: string;
}

/**
 * Users of their own for pods where this process is root. Where a pod could not reach the programs or its own folder (an
 * installation below /root), it runs as root as ever; the log and `problem` say what is in the way.
 */
export function chooseUsers(
  { ranges, programs, reservedIn = MACHINE_FOLDER }: UserOptions,
  { folder, podsFolder, log }: { readonly folder: string; readonly podsFolder: string; readonly log: Logger },
): Users {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return asNode();
  if (ranges.length === 0) return asNode('users of their own are switched off by AGENTPLANE_POD_USERS=none');
  for (const path of [folder, podsFolder]) chmodSync(path, 0o711);
  // a container may know the small numbers alone
  const problems = ranges.map((range) => problemOf(range, folder));
  const usable = ranges.filter((_, at) => problems[at] === undefined);
  if (usable.length === 0) {
    log.warn(
      { problems, ranges },
      'pods run as root: this machine gives processes no such users; set AGENTPLANE_POD_USERS to numbers that it has',
    );
    return asNode(
      `processes cannot become users of AGENTPLANE_POD_USERS (${problems[0]}); set it to numbers that the machine has`,
    );
  }
  for (const path of [process.execPath, ...programs, podsFolder]) {
    const closed = closedPart(realpathSync(path));
    if (closed === undefined) continue;
    log.warn(
      { closed, needed: path },
      'pods run as root: users of their own cannot pass this folder; install Agentplane and its data folder outside of it',
    );
    return asNode(
      `users of their own cannot pass ${closed}; install Agentplane and its data folder outside of it`,
    );
  }
  return new PodUsers(folder, podsFolder, usable, reservations(realpathSync(folder), reservedIn, log));
}

/** The reservations of this machine; of this installation alone where the machine's folder cannot be written. */
function reservations(folder: string, reservedIn: string, log: Logger): ReservedUsers {
  try {
    return new ReservedUsers(folder, reservedIn);
  } catch (error) {
    log.warn(
      { folder: reservedIn, error: errorText(error) },
      'reserving numbers of users on this machine failed; another installation of root may give its pods the same ones',
    );
    return new ReservedUsers(folder, join(folder, 'reserved-users'));
  }
}

/** Root of a container may lack the right to become others, or know fewer numbers than the machine. */
function problemOf({ first, last }: UserRange, folder: string): string | undefined {
  const probe = join(folder, 'users.probe');
  try {
    for (const uid of [first, last]) {
      writeFileSync(probe, '');
      chownSync(probe, uid, uid);
      rmSync(probe);
      const { error } = spawnSync('/bin/sh', ['-c', 'exit 0'], { uid, gid: uid, cwd: '/', stdio: 'ignore' });
      if (error) return error.message;
    }
    return undefined;
  } catch (error) {
    return errorText(error);
  } finally {
    rmSync(probe, { force: true });
  }
}
