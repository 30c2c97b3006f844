import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Clock } from '#lib/time';
import { Pace } from '../pace.js';
import { processNumbers, statusOf } from './process-status.js';

/** Folders of a machine in which all its users write. */
const PLACES = ['/tmp', '/var/tmp', '/dev/shm', '/dev/mqueue', '/run/lock'];
/** Pods of the user wait meanwhile. */
const MAX_MS = 10_000;

const SCRIPT = `
node=$1 uid=$2; shift 2
nice -n 19 find "$@" -xdev -mindepth 1 -path "$node" -prune -o -user "$uid" \\
  -exec sh -c 'chmod -R u+rwX -- "$@"; rm -rf -- "$@"' sh {} +
command -v ipcrm > /dev/null && ipcrm --all
:
`;

/**
 * Removes what a user of pods left in the folders that all users of the machine share, on disk and in memory, and its shared
 * memory, semaphores and queues of System V. With the rights of that user, who may have put links there. Nothing is removed
 * while a process of this number runs: another node of the machine may have given it as well.
 * @param nodeFolder in which nothing is removed: images of builds wait there
 * @returns whether all was looked at; a busy machine may need more than one look
 */
export async function removeLeftFiles(uid: number, nodeFolder: string, clock: Clock): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  if (await hasProcesses(uid, clock)) return false;
  const places = PLACES.filter((place) => existsSync(place));
  return await new Promise<boolean>((resolve) => {
    const child = spawn('/bin/sh', ['-c', SCRIPT, 'sh', nodeFolder, String(uid), ...places], {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      stdio: 'ignore',
      uid,
      gid: uid,
      timeout: MAX_MS,
      killSignal: 'SIGKILL' as const,
    });
    child.on('error', () => resolve(false));
    child.on('close', (code) => resolve(code === 0));
  });
}

async function hasProcesses(uid: number, clock: Clock): Promise<boolean> {
  const pace = new Pace(clock);
  for (const pid of processNumbers()) {
    await pace.step();
    if (statusOf(pid)?.uids.includes(uid) === true) return true;
  }
  return false;
}
