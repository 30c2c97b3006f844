import { linkSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { isRunning, ownIdentity, type ProcessIdentity } from '#lib/process-identity';
import { readJson } from './json-file.js';

export interface Lock {
  release(): void;
}

/**
 * One owner at a time. The file names the owner's pid and start time, so that a lock left by a killed process is recognised
 * even after its pid was given to another process.
 * @param taken the message for when the owner still runs
 * @throws Error with that message
 */
export function takeLock(path: string, taken: (owner: ProcessIdentity) => string): Lock {
  const own = ownIdentity();
  const draft = `${path}.${own.pid}`;
  writeFileSync(draft, JSON.stringify(own), { mode: 0o600 });
  try {
    for (let tries = 0; tries < 3; tries++) {
      if (tryLink(draft, path)) return { release: () => releaseOwn(path, own) };
      const owner = readJson<ProcessIdentity>(path);
      if (owner && isRunning(owner)) throw new Error(taken(owner));
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
