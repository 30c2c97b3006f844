import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '#lib/errors';
import type { Logger } from '#lib/telemetry';
import type { Users } from '../context/node-context.js';
import { nodeUser } from '../user/pod-user.js';
import { closedPart } from './closed-part.js';
import { PodUsers, type UserRange } from './pod-users.js';

const AS_NODE: Users = { of: nodeUser, endProcesses: () => 0 };

export interface UserOptions {
  /** Undefined: pods run as the node's own user. */
  readonly range: UserRange | undefined;
  /** What every pod must be able to read: the programs of this installation. */
  readonly programs: readonly string[];
}

/**
 * Users of their own for pods where this process is root. Where a pod could not reach the programs or its own folder (an
 * installation below /root), it runs as root as ever, and the log says what is in the way.
 */
export function chooseUsers(
  { range, programs }: UserOptions,
  { folder, podsFolder, log }: { readonly folder: string; readonly podsFolder: string; readonly log: Logger },
): Users {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !range) return AS_NODE;
  for (const path of [folder, podsFolder]) chmodSync(path, 0o711);
  const problem = problemOf(range, folder);
  if (problem !== undefined) {
    log.warn(
      { problem, ...range },
      'pods run as root: this machine gives processes no such users; set AGENTPLANE_POD_USERS to numbers that it has',
    );
    return AS_NODE;
  }
  for (const path of [process.execPath, ...programs, podsFolder]) {
    const closed = closedPart(realpathSync(path));
    if (closed === undefined) continue;
    log.warn(
      { closed, needed: path },
      'pods run as root: users of their own cannot pass this folder; install Agentplane and its data folder outside of it',
    );
    return AS_NODE;
  }
  return new PodUsers(folder, podsFolder, range);
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
