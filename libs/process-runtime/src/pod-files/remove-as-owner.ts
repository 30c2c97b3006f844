import { spawn } from 'node:child_process';
import { chmodSync, lstatSync, opendirSync, rmdirSync } from 'node:fs';

const MAX_MS = 10 * 60_000;

/**
 * Removes a folder that belongs to a pod's user. With that user's rights: a process that outlived its pod may put a link
 * where a folder was just seen, and root would follow it.
 * @throws Error when something is left
 */
export async function removeAsOwner(folder: string): Promise<void> {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (!found) return;
  const { uid, gid } = found;
  chmodSync(folder, 0o700); // its user may have shut the others out, and itself
  const script = 'chmod -R u+rwX -- "$0"; rm -rf -- "$0"';
  if (!isEmpty(folder)) await run('/bin/sh', ['-c', script, folder], { uid, gid });
  rmdirSync(folder); // the one thing in it that its parent's owner must do
}

/** Without a look at all of it: a pod may have left millions. */
function isEmpty(folder: string): boolean {
  const opened = opendirSync(folder);
  try {
    return opened.readSync() === null;
  } finally {
    opened.closeSync();
  }
}

function run(command: string, args: readonly string[], user: { uid: number; gid: number }): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      stdio: 'ignore',
      // processes of that user may stop it
      ...{ timeout: MAX_MS, killSignal: 'SIGKILL' },
      ...user,
    });
    // it cannot remove the folder itself, and what it could not remove is found by the caller
    child.on('error', () => resolve());
    child.on('close', () => resolve());
  });
}
