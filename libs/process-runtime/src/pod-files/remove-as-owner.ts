import { spawn } from 'node:child_process';
import { chmodSync, lstatSync, readdirSync, rmdirSync } from 'node:fs';

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
  if (readdirSync(folder).length > 0) await run('/bin/sh', ['-c', script, folder], { uid, gid });
  rmdirSync(folder); // the one thing in it that its parent's owner must do
}

function run(command: string, args: readonly string[], user: { uid: number; gid: number }): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      stdio: 'ignore',
      ...user,
    });
    // it cannot remove the folder itself, and what it could not remove is found by the caller
    child.on('error', () => resolve());
    child.on('close', () => resolve());
  });
}
