import { spawn } from 'node:child_process';

/** Time limit for removing hundreds of thousands of files; the rest is deleted with the pod. */
const MAX_MS = 60_000;
/** Folders may be closed to their own user, and whatever is named may begin with a dash. */
const SCRIPT =
  'cd -- "$0" && chmod -R u+rwX . 2>/dev/null; cd -- "$0" && find . -mindepth 1 -maxdepth 1 -exec rm -rf -- {} +';

/** Removes what a folder holds, with the rights of this user; what cannot be removed stays. */
export function emptyFolder(folder: string): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', SCRIPT, folder], {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      stdio: 'ignore',
      timeout: MAX_MS,
      killSignal: 'SIGKILL',
    });
    child.on('error', () => resolve());
    child.on('close', () => resolve());
  });
}
