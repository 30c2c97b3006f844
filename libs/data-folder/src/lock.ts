import { linkSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { isRunning, ownIdentity, type ProcessIdentity } from '#lib/process-identity';
import { readJson } from './json-file.js';

export interface Lock {
  release(): void;
}

/** Holder of a lock. */
export interface LockOwner extends ProcessIdentity {
  /** The command that took it, where others need to know. */
  readonly command?: string;
}

/** The process that holds the lock and still runs. */
export function findLockOwner(path: string): LockOwner | undefined {
  const owner = readJson<LockOwner>(path);
  return owner && isRunning(owner) ? owner : undefined;
}

/**
 * One owner at a time. The file names the owner's pid and start time, so that a lock left by a killed process is recognised
 * even after its pid was given to another process.
 * @param taken the message for when the owner still runs
 * @param command written beside the owner
 * @throws Error with that message
 */
export function takeLock(path: string, taken: (owner: ProcessIdentity) => string, command?: string): Lock {
  const own = ownIdentity();
  const draft = `${path}.${own.pid}`;
  writeFileSync(draft, JSON.stringify({ ...own, command }), { mode: 0o600 });
  try {
    for (let tries = 0; tries < 3; tries++) {
      if (tryLink(draft, path)) return { release: () => releaseOwn(path, own) };
      const owner = findLockOwner(path);
      if (owner) throw new Error(taken(owner));
      rmSync(path, { force: true });
    }
    throw new Error(`${path} cannot be locked: another process is starting; try again`);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Linking fails when the name exists, and is atomic on every file system that matters. */
function tryLink(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function releaseOwn(path: string, own: ProcessIdentity): void {
  const owner = readJson<ProcessIdentity>(path);
  if (owner?.pid === own.pid && owner.startedAt === own.startedAt) unlinkSync(path);
}
