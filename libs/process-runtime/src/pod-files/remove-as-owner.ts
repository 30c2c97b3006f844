import { spawn } from 'node:child_process';
import { chmodSync, lstatSync, opendirSync, rmdirSync } from 'node:fs';

const MAX_MS = 10 * 60_000;

/**
 * Removes a folder that a pod wrote, in a process of its own with the rights of its owner: a process that
 * outlived its pod may put a link where a folder was just seen, and root would follow it. A path that is no
 * folder stays, and so may files of this process's own user.
 * @throws Error when something of another user is left
 */
export async function removeAsOwner(folder: string): Promise<void> {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return;
  const { uid, gid } = found;
  const isOwn = uid === process.getuid?.();
  chmodSync(folder, 0o700); // its user may have shut the others out, and itself
  const script = 'chmod -R u+rwX -- "$0"; rm -rf -- "$0"';
  if (!isEmpty(folder)) await run('/bin/sh', ['-c', script, folder], isOwn ? {} : { uid, gid });
  if (!isOwn) rmdirSync(folder); // the one thing in it that its parent's owner must do
}

/** Checks for emptiness without reading the whole folder: a pod may have left millions of files. */
function isEmpty(folder: string): boolean {
  const opened = opendirSync(folder);
  try {
    return opened.readSync() === null;
  } finally {
    opened.closeSync();
  }
}

function run(
  command: string,
  args: readonly string[],
  user: { readonly uid?: number; readonly gid?: number },
): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      stdio: 'ignore',
      // processes of that user may stop it
      timeout: MAX_MS,
      killSignal: 'SIGKILL',
      ...user,
    });
    // it cannot remove the folder itself, and what it could not remove is found by the caller
    child.on('error', () => resolve());
    child.on('close', () => resolve());
  });
}
