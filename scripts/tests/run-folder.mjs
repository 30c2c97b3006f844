// The temporary folder of one test run. Everything that its tests start has the name of the run in its environment, its
// arguments or its working folder, so that what a run left behind, however it ended, is found and removed.
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const PREFIX = 'ap-tests-';
const OWNER = 'owner';
/** Where test servers keep data in memory; libs/testing names the folder after the run. */
const MEMORY = '/dev/shm';

/** Makes the folder, has all that this process starts use it, and removes what earlier runs left. */
export function openRunFolder() {
  const parent = realpathSync(tmpdir());
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(PREFIX) || isOwned(join(parent, name))) continue;
    console.log(
      `removing what an earlier test run left: ${removeRun(join(parent, name)).join(', ') || name}`,
    );
  }
  const folder = mkdtempSync(join(parent, PREFIX));
  chmodSync(folder, 0o1777); // servers run as other users
  writeFileSync(join(folder, OWNER), `${process.pid} ${startOf(process.pid)}`);
  process.env.TMPDIR = folder;
  process.env.AGENTPLANE_TEST_RUN = basename(folder);
  return folder;
}

/** Ends the processes of a run and removes its folders and shared memory. Answers what still ran, by its arguments. */
export function removeRun(folder) {
  const name = basename(folder);
  const ended = new Map();
  for (let found = processesOf(name); found.length > 0; found = processesOf(name)) {
    for (const { pid, words } of found) {
      ended.set(pid, words);
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // it ended meanwhile
      }
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
  for (const place of [folder, join(MEMORY, name)]) {
    removeSharedMemory(place);
    rmSync(place, { recursive: true, force: true, maxRetries: 5 });
  }
  return [...ended.values()];
}

function isOwned(folder) {
  try {
    const [pid, start] = readFileSync(join(folder, OWNER), 'utf8').split(' ');
    return startOf(Number(pid)) === start;
  } catch {
    return false;
  }
}

/** A pid may be used again; together with this it names one process. Empty when there is no such process. */
function startOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return '';
  }
}

function processesOf(name) {
  if (!existsSync('/proc/self/stat')) return [];
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .map((pid) => ({
      pid: Number(pid),
      words: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').slice(0, 120),
      isZombie: / Z /.test(read(`/proc/${pid}/stat`)),
      mark: [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`].map(read).join() + workingFolder(pid),
    }))
    .filter(({ mark, isZombie }) => mark.includes(name) && !isZombie);
}

function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function workingFolder(pid) {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}

/** A killed Postgres leaves its segment, whose number is the second word of line 7 of postmaster.pid. */
function removeSharedMemory(place) {
  if (!existsSync(place)) return;
  for (const path of readdirSync(place, { recursive: true })) {
    if (basename(path) !== 'postmaster.pid') continue;
    const id = read(join(place, path)).split('\n')[6]?.trim().split(/\s+/)[1];
    if (id) spawnSync('ipcrm', ['-m', id], { stdio: 'ignore' });
  }
}
